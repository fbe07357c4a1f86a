import { z } from 'zod'
import { normalizeHostRule } from './hosts.ts'
import { rootFault } from './paths.ts'
import { approvalModes, nonInteractiveModes, type Policy } from './policy.ts'

/** A string that a rule accepts; `fault` tells what is wrong and what to write instead. */
export function checked(fault: (text: string) => string | null) {
  return z.string().check(context => {
    const message = fault(context.value)
    if (message !== null) context.issues.push({ code: 'custom', message, input: context.value })
  })
}

function nameFault(name: string): string | null {
  if (name === '') return 'a name is needed'
  return name.includes('\0') ? 'a name holds no NUL byte' : null
}

function variableFault(name: string): string | null {
  if (name.includes('=')) return `\`${name}\`: a variable is named without \`=\` and without its value`
  return nameFault(name)
}

function programFault(entry: string): string | null {
  if (entry.startsWith('~')) return '`~` is not expanded; write the absolute path of the file'
  if (entry.includes('/') && !entry.startsWith('/')) {
    return `\`${entry}\`: an entry is a file name, \`git\`, or the absolute real path of one file`
  }
  return rootFault(entry) ?? nameFault(entry)
}

function hostFault(rule: string): string | null {
  const result = normalizeHostRule(rule)
  return result.ok ? null : result.message
}

const root = checked(rootFault)
const variable = checked(variableFault)
const program = checked(programFault)
const host = checked(hostFault)
const name = checked(nameFault)

/** Where a secret value is read from (02, Secrets). */
export const secretReferenceSchema = z.union([
  z.strictObject({ env: variable }),
  z.strictObject({ file: root }),
  z.strictObject({
    process: z.strictObject({
      command: z.string().min(1),
      args: z.array(z.string()).default([]),
      timeoutSeconds: z.int().min(1).max(60).default(5),
      outputLimitBytes: z.int().min(1).max(65_536).default(16_384),
    }),
  }),
])

/** Fields of `spec.policy.network` as written. */
export const networkSchema = z.strictObject({
  allowedSchemes: z.array(z.enum(['https', 'http'])).optional(),
  allowedPorts: z.array(z.int().min(1).max(65_535)).optional(),
  allowPrivate: z.boolean().optional(),
  allowProxy: z.boolean().optional(),
  customCa: secretReferenceSchema.optional(),
  connectTimeoutSeconds: z.int().min(1).max(120).optional(),
  maxResponseBytes: z.int().min(1).max(67_108_864).optional(),
})

/** `spec.policy` as written: every field optional, nothing else accepted. */
export const policySchema = z.strictObject({
  workspaceRoot: root.optional(),
  writableRoots: z.array(root).optional(),
  environmentAllowlist: z.array(variable).optional(),
  processAllowlist: z.array(program).optional(),
  secretFileRoots: z.array(root).optional(),
  secretProcessAllowlist: z.array(program).optional(),
  networkAllowlist: z.array(host).optional(),
  network: networkSchema.optional(),
  providers: z.array(name).optional(),
  toolsAllow: z.array(name).optional(),
  toolsDeny: z.array(name).optional(),
  approval: z.enum(approvalModes).optional(),
  nonInteractive: z.enum(nonInteractiveModes).optional(),
})
export type WrittenPolicy = z.infer<typeof policySchema>

/** The policy of a document that writes none: nothing writable, nothing runnable, mutations ask a person. */
export const policyDefaults: Policy = {
  workspaceRoot: '.',
  writableRoots: [],
  environmentAllowlist: [],
  processAllowlist: [],
  secretFileRoots: [],
  secretProcessAllowlist: [],
  networkAllowlist: [],
  network: {
    allowedSchemes: ['https', 'http'],
    allowedPorts: 'any',
    allowPrivate: false,
    allowProxy: false,
    customCa: null,
    connectTimeoutSeconds: 10,
    maxResponseBytes: 8_388_608,
  },
  providers: 'any',
  toolsAllow: 'any',
  toolsDeny: [],
  approval: 'mutations',
  nonInteractive: 'pause',
}

/** The written policy with every default filled in; a written empty `providers` or `toolsAllow` means any. */
export function withDefaults(written: WrittenPolicy): Policy {
  const network = written.network ?? {}
  const base = policyDefaults
  return {
    workspaceRoot: written.workspaceRoot ?? base.workspaceRoot,
    writableRoots: written.writableRoots ?? base.writableRoots,
    environmentAllowlist: written.environmentAllowlist ?? base.environmentAllowlist,
    processAllowlist: written.processAllowlist ?? base.processAllowlist,
    secretFileRoots: written.secretFileRoots ?? base.secretFileRoots,
    secretProcessAllowlist: written.secretProcessAllowlist ?? base.secretProcessAllowlist,
    networkAllowlist: written.networkAllowlist ?? base.networkAllowlist,
    network: {
      allowedSchemes: network.allowedSchemes ?? base.network.allowedSchemes,
      allowedPorts: anyWhenEmpty(network.allowedPorts),
      allowPrivate: network.allowPrivate ?? base.network.allowPrivate,
      allowProxy: network.allowProxy ?? base.network.allowProxy,
      customCa: network.customCa ?? null,
      connectTimeoutSeconds: network.connectTimeoutSeconds ?? base.network.connectTimeoutSeconds,
      maxResponseBytes: network.maxResponseBytes ?? base.network.maxResponseBytes,
    },
    providers: anyWhenEmpty(written.providers),
    toolsAllow: anyWhenEmpty(written.toolsAllow),
    toolsDeny: written.toolsDeny ?? base.toolsDeny,
    approval: written.approval ?? base.approval,
    nonInteractive: written.nonInteractive ?? base.nonInteractive,
  }
}

function anyWhenEmpty<Item>(list: Item[] | undefined): Item[] | 'any' {
  return list === undefined || list.length === 0 ? 'any' : list
}
