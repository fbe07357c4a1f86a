import type { Digest } from '../canonical.ts'
import type { Policy } from '../decision/policy.ts'
import type { EffectClass, Idempotency, Isolation, Predictability, Risk } from '../effect.ts'
import type { Json, JsonObject } from '../json.ts'

/**
 * The plan: all that a run needs to know of its document, fixed before the run exists. A function of the document, the
 * files it names, the inputs and the repository's floor, so the same bytes on every machine (01, Compilation).
 */
export interface Plan {
  formatVersion: 1
  workflowName: string
  /** Digest of the document's canonical value and of the files that it names. */
  workflowDigest: Digest
  /** Digest of this plan without this field and without the tasks' places: layout changes nothing. See `planDigest`. */
  planDigest: Digest
  /** Digest of the effective repository floor, null where none is installed. */
  floorDigest: Digest | null
  /** Task ids, topological, ties in declaration order. */
  order: string[]
  maxConcurrency: number
  defaultTimeoutSeconds: number
  /** Effective inputs: the document's defaults under the given values. */
  inputs: JsonObject
  /** Templates of the final outputs. */
  outputs: JsonObject
  /** The workflow's variables, `--vars-file` over them: data, never parsed for templates. See `scopeOfTask`, `scopeOfOutputs`. */
  vars: JsonObject
  /** Working memory at the start of the run. */
  memory: JsonObject
  tasks: { [id: string]: PlanTask }
  effectivePolicy: EffectivePolicy
  processes: PlanProcess[]
  requirements: PlanRequirements
  /** Workspace-relative files that the plan was made from besides the document (packs, varsFiles): never writable. */
  sourceFiles: string[]
  budgets: { [name: string]: number }
  /** The part of the long-term memory that its tasks work on; absent where none does. */
  longTerm?: PlanLongTerm
  /** Absent where no task has a compensation. `approval` always asks of each beyond the policy; never takes nothing away. */
  compensation?: { onFailure: 'manual' | 'automatic'; approval: 'policy' | 'never' | 'always' }
}

export interface PlanLongTerm {
  namespace: string
  /** How long what is written is kept; null = for good. */
  retentionDays: number | null
}

/** Each field of the policy with where its value came from. */
export type EffectivePolicy = { [Field in keyof Policy]: { value: Policy[Field]; origin: PolicyOrigin } }
export type PolicyOrigin = 'document' | 'floor' | 'default'

/**
 * One task of the plan; `with`, `when` and `vars` keep their templates. `vars` are the task's own, over the plan's; their
 * templates read inputs, memory and tasks, not variables. `with` has the action's defaults under the task's input.
 */
export interface PlanTask {
  id: string
  uses: string
  needs: string[]
  when: string | null
  vars: JsonObject
  with: JsonObject
  retry: { maxAttempts: number; backoffMs: number }
  timeoutSeconds: number
  failure: 'stop' | 'continue'
  memoryWrites: string[]
  /** JSON Schema, draft 2020-12, that the output satisfies or the task fails; absent = none. */
  outputSchema?: Json
  action: PlanAction
  /** Present where the task has no effect of its own: it is computed from what other tasks came to. */
  control?: PlanControl
  /** Variables that expansion bound: data over every other variable, never parsed for templates. */
  bindings?: JsonObject
  /** Its place in a loop; on an iteration `when` is the loop's guard. */
  iteration?: PlanIteration
  /** Where the names in its templates lead; absent = to the document's own inputs and tasks. */
  scope?: PlanScope
  /** Routers that have this task, or the one that it was expanded from, among their destinations. */
  routes?: PlanRoute[]
  /** What undoes it once it has succeeded; absent where the document says nothing of that. */
  compensate?: PlanCompensation
  /** Of a compensation, which becomes a task of its own in the run: what it undoes. */
  compensates?: PlanCompensated
  /** Where the task stands in the document, or in `file` of a pack, for annotations; lines and columns from 1. */
  source: { line: number; column: number; file?: string }
}

/** A compensation before it is a task: `ID--compensate`, in the place of the task that it undoes. */
export type PlanCompensation = Omit<PlanTask, 'id' | 'needs' | 'source' | 'control' | 'routes' | 'compensate'> & {
  compensates: PlanCompensated
}

export interface PlanCompensated {
  task: string
  /** The id by which its templates read the output of that task: the declared one, whatever it was expanded to. */
  name: string
}

/**
 * What a task without an effect computes; ids are those of the plan.
 * - router: `select` chooses the first case that equals it, else `default`; destinations are named as in the document;
 * - items: the results of what foreach or matrix made, in order;
 * - iterations: the same of a loop, and whether its guard `while` has become false;
 * - inputs: the inputs of one sub-workflow, from the task's `with`;
 * - outputs: its outputs, from the task's `with`, once all its tasks (`members`) have ended. Skipped where `entry` is.
 */
export type PlanControl =
  | { kind: 'router'; select: string; cases: { equals: Json; tasks: string[] }[]; default: string[] }
  | { kind: 'items'; members: string[] }
  | { kind: 'iterations'; members: string[]; while: string }
  | ({ kind: 'inputs' } & PlanBoundary)
  | ({ kind: 'outputs'; entry: string; members: string[] } & PlanBoundary)

/** One side of a sub-workflow. */
export interface PlanBoundary {
  subworkflow: string
  version: string
  /** JSON Schema, draft 2020-12, of what passes. */
  schema: Json
}

/** `vars.loopIndex` and `vars.loopPrevious` of an iteration; at the end of a loop those of the one that must not follow. */
export interface PlanIteration {
  /** From 0. */
  index: number
  /** Task whose whole output is `vars.loopPrevious`; null in the first iteration, which has `initial`. */
  previous: string | null
  /** With its templates; null where the document has none. */
  initial: Json
}

/** The names within a sub-workflow: inputs are another task's output, tasks have a prefix. */
export interface PlanScope {
  inputs: string
  prefix: string
}

export interface PlanRoute {
  router: string
  /** As the router's cases name it. */
  destination: string
}

/** An action as declared, with defaults filled in. */
export interface PlanAction {
  name: string
  kind: string
  /** Name in policy lists, `filesystem.write`; the kind itself for pure builtins. */
  tool: string
  capabilities: string[]
  effectClass: EffectClass
  risk: Risk
  idempotency: Idempotency
  isolation: Isolation
  process: PlanCommand | null
  /** Present where it runs in a container. */
  container?: PlanContainer
  /** What an extension declares of itself; absent for every other kind. */
  extension?: PlanExtension
  /** JSON Schemas, draft 2020-12, of input and output of the other kinds; absent = none. */
  inputSchema?: Json
  outputSchema?: Json
}

/** The declaration that an extension's handshake must equal, capabilities in order. */
export interface PlanExtension {
  protocolVersion: string
  /** JSON Schemas, draft 2020-12. */
  inputSchema: Json
  outputSchema: Json
  capabilities: string[]
}

/** What a process action runs and within which bounds. */
export interface PlanCommand {
  command: string
  args: string[]
  cwd: string
  /** Variable name in the child -> where its value comes from. */
  env: { [name: string]: SecretReference }
  /** Whole seconds, 1..86,400. */
  timeoutSeconds: number
  stdoutLimitBytes: number
  stderrLimitBytes: number
  combinedOutputLimitBytes: number
  /** Globs of the files to keep across a pause. */
  artifacts: string[]
}

/** The container of a process action: which image on which engine, within which bounds. */
export interface PlanContainer {
  /** `NAME@sha256:<64 hex>` or `sha256:<64 hex>`. */
  image: string
  runtime: 'auto' | 'docker' | 'podman'
  memoryLimitBytes: number
  /** Thousandths of a CPU. */
  cpuLimitMillis: number
  pidsLimit: number
}

/** Where a value that must stay secret is read from; never the value. */
export type SecretReference =
  | { env: string }
  | { file: string }
  | { process: { command: string; args: string[]; timeoutSeconds: number; outputLimitBytes: number } }

/** One process action, as the seed wants it listed: its tasks, mode, image contract, engine selection and limits. */
export interface PlanProcess {
  action: string
  kind: string
  tasks: string[]
  isolation: Isolation
  command: string
  args: string[]
  /** Image and engine, null for host processes. */
  container: { image: string; runtime: 'auto' | 'docker' | 'podman' } | null
  /** Every bound by field name, in the unit that the name says. */
  limits: { [name: string]: number }
}

export interface PlanRequirements {
  providers: string[]
  tools: string[]
  effects: PlanEffect[]
}

export interface PlanEffect {
  task: string
  operation: string
  effectClass: EffectClass
  risk: Risk
  approvalPossible: boolean
  predictability: Predictability
}
