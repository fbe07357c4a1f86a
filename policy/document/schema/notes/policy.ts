import { policyDefaults } from '../../../decision/schema.ts'
import type { Json } from '../../../json.ts'
import type { Notes } from './apply.ts'

/** A secret reference (02, Secrets). */
export const secretNotes: Notes = {
  env: 'name of an environment variable of the runner, listed in environmentAllowlist',
  file: 'existing regular file below one of secretFileRoots, at most 65,536 bytes of UTF-8',
  process: {
    '': 'a helper whose standard output is the value; its basename is in secretProcessAllowlist',
    command: 'program; no shell',
    args: 'arguments',
    timeoutSeconds: 'seconds until it is ended',
    outputLimitBytes: 'bytes of output beyond which it fails',
  },
}

const network: { readonly [field: string]: Notes } = {
  allowedSchemes: 'schemes of addresses that may be opened',
  allowedPorts: 'effective ports that may be reached; empty means any',
  allowPrivate: 'whether an answer with private, loopback, link-local or other special addresses is accepted',
  allowProxy: 'whether proxy variables of the environment are honoured',
  customCa: { '': 'further certificates that are trusted: PEM, certificate blocks only', ...secretNotes },
  connectTimeoutSeconds: 'seconds for resolving and connecting together',
  maxResponseBytes: 'bytes of a response beyond which the effect fails',
}

const fields: { readonly [field: string]: Notes } = {
  workspaceRoot: 'directory below which files are read, relative to the workspace',
  writableRoots:
    'directories below which files may be written, relative to the workspace or absolute; empty means none',
  environmentAllowlist: 'names of environment variables that a child may have and a reference may read',
  processAllowlist: 'programs that may run: a basename, or with a slash the exact real path of one file',
  secretFileRoots: 'directories below which secret files may lie',
  secretProcessAllowlist: 'basenames of helpers that may print a secret',
  networkAllowlist: 'hosts that may be reached: exact, or `*.suffix` for subdomains only',
  network: { '': 'how connections are made', ...network },
  providers: 'model providers that may be used, by name; empty means any that the document defines',
  toolsAllow: 'tools and capabilities that may be used; empty means any that the document defines',
  toolsDeny: 'tools and capabilities that may not be used; wins over toolsAllow',
  approval: 'which effects wait for a person: none, those that change something, those of high risk, or all',
  nonInteractive:
    'what becomes of an effect that needs approval where nobody sits at a terminal: the run pauses, or the effect is denied',
}

/** The fields of `spec.policy`, with the defaults that hold where one is left out. */
export const policyNotes: Notes = withDefaultsOf(
  {
    ...fields,
    network: { '': 'how connections are made', ...withDefaultsOf(network, defaultsOf(policyDefaults.network)) },
  },
  { ...defaultsOf(policyDefaults), network: withoutAny(defaultsOf(policyDefaults.network)) },
)

/** The same fields as upper bounds of a floor: what is left out is not bounded. */
export const boundNotes: Notes = {
  ...fields,
  approval: 'which effects wait for a person in any case; what floor and document require is joined',
  nonInteractive: 'the mildest that a document may choose',
}

function defaultsOf(values: object): { [field: string]: Json } {
  return values as { [field: string]: Json }
}

function withDefaultsOf(
  notes: { readonly [field: string]: Notes },
  defaults: { [field: string]: Json },
): { [field: string]: Notes } {
  return Object.fromEntries(
    Object.entries(notes).map(([field, note]) => {
      const value = defaults[field]
      if (value === undefined || value === null) return [field, note]
      const own = typeof note === 'string' ? { '': note } : note
      return [field, { ...own, '=': value === 'any' ? [] : value }]
    }),
  )
}

/** As a document would write it: `any` is the empty list, an absent certificate is left out. */
function withoutAny(fieldsOf: { [field: string]: Json }): Json {
  return Object.fromEntries(
    Object.entries(fieldsOf).flatMap(([field, value]) =>
      value === null ? [] : [[field, value === 'any' ? [] : value]],
    ),
  )
}
