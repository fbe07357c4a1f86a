import type { EffectClass, Idempotency, Predictability, Risk } from '../../effect.ts'
import type { ActionKind } from '../schema/action.ts'

/** What is known of a kind of action before anything of a document is read (01, table of kinds). */
export interface Kind {
  /** Name in policy lists; the kind itself for pure builtins. */
  tool: string
  effectClass: EffectClass
  risk: Risk
  /** Unless the action declares another. */
  idempotency: Idempotency
  predictability: Predictability
  /** Starts a process: needs `command`, and alone may have the fields of one. */
  process: boolean
  /** Fields of the input; null = any. */
  input: { required: readonly string[]; optional: readonly string[] } | null
}

const none = { required: [], optional: [] }
const process = {
  effectClass: 'process_execution',
  risk: 'high',
  idempotency: 'unknown',
  predictability: 'none',
  process: true,
} as const
const memory = {
  effectClass: 'internal_state',
  risk: 'low',
  idempotency: 'keyed',
  predictability: 'full',
  process: false,
} as const
const workspaceWrite = {
  tool: 'filesystem.write',
  effectClass: 'workspace_mutate',
  risk: 'medium',
  idempotency: 'idempotent',
  process: false,
} as const
const pure = { effectClass: 'pure', risk: 'low', idempotency: 'pure', predictability: 'full', process: false } as const
const longTerm = { risk: 'medium', idempotency: 'keyed', predictability: 'partial', process: false } as const

export const kinds: { readonly [Name in ActionKind]: Kind } = {
  'builtin.assign': { tool: 'builtin.assign', ...pure, input: null },
  'builtin.assert': { tool: 'builtin.assert', ...pure, input: { required: ['that'], optional: ['message'] } },
  'builtin.read': {
    tool: 'filesystem.read',
    effectClass: 'observe',
    risk: 'low',
    idempotency: 'idempotent',
    predictability: 'full',
    process: false,
    input: { required: ['path'], optional: [] },
  },
  'builtin.write': {
    ...workspaceWrite,
    predictability: 'full',
    input: { required: ['path', 'content'], optional: [] },
  },
  'builtin.apply_diff': { ...workspaceWrite, predictability: 'partial', input: { required: ['diff'], optional: [] } },
  'builtin.shell.exec': { tool: 'process.exec', ...process, input: none },
  'extension.process': { tool: 'process.exec', ...process, input: null },
  'builtin.memory.read': { tool: 'memory.read', ...memory, input: { required: ['key'], optional: [] } },
  'builtin.memory.write': { tool: 'memory.write', ...memory, input: { required: ['key', 'value'], optional: [] } },
  'builtin.long_term_memory.read': {
    tool: 'long_term_memory.read',
    effectClass: 'observe',
    ...longTerm,
    input: { required: ['key'], optional: [] },
  },
  'builtin.long_term_memory.search': {
    tool: 'long_term_memory.search',
    effectClass: 'observe',
    ...longTerm,
    input: { required: ['query'], optional: ['limit'] },
  },
  'builtin.long_term_memory.write': {
    tool: 'long_term_memory.write',
    effectClass: 'external_mutate',
    ...longTerm,
    input: { required: ['key', 'value'], optional: [] },
  },
  'builtin.long_term_memory.promote': {
    tool: 'long_term_memory.promote',
    effectClass: 'internal_state',
    ...longTerm,
    input: { required: ['key'], optional: [] },
  },
  'mcp.call': {
    tool: 'mcp.call',
    effectClass: 'external_mutate',
    risk: 'medium',
    idempotency: 'unknown',
    predictability: 'none',
    process: false,
    input: null,
  },
  'a2a.delegate': {
    tool: 'a2a.delegate',
    effectClass: 'remote_agent',
    risk: 'high',
    idempotency: 'at_most_once',
    predictability: 'none',
    process: false,
    input: null,
  },
}

/** Kinds that this version parses and cannot run, with the name of what is missing. */
export const unsupportedKinds: { readonly [Name in ActionKind]?: string } = {
  'builtin.apply_diff': 'applying diffs',
  'mcp.call': 'MCP',
  'a2a.delegate': 'A2A',
}

/** How much of an effect of a kind is known before it runs, once its input is. Unknown kinds are not predictable. */
export function predictabilityOfKind(kind: string): Predictability {
  return Object.hasOwn(kinds, kind) ? kinds[kind as ActionKind].predictability : 'none'
}
