import type { EffectClass, Isolation, Risk } from '../effect.ts'
import type { JsonObject } from '../json.ts'
import type { Facts } from './facts.ts'
import type { Floor } from './floor.ts'
import type { Policy } from './policy.ts'

/** What the runtime is asked to decide about: one effect of one task, its input already resolved. */
export interface EffectQuestion {
  task: string
  /** Agent name where a model asked, null for a declared task. */
  agent: string | null
  /** Action kind or tool kind, `builtin.write`. */
  operation: string
  /** Name in policy lists, `filesystem.write`. */
  tool: string
  capabilities: string[]
  effectClass: EffectClass
  risk: Risk
  isolation: Isolation
  /** A tool's own word, or that of `spec.compensation` on what undoes a task; `policy` for every other action. */
  toolApproval: 'policy' | 'never' | 'always'
  /** The task that the effect undoes; absent for every other effect. */
  compensates?: string
  input: JsonObject
  /** Set where a parent run confirmed the same effect and it is not pure or idempotent: always asks (04, attempt table). */
  confirmedByParent: string | null
}

/** The five answers in their fixed order; `decide` records each with the rule that gave it. */
export const decisionSteps = ['visible', 'authorised', 'resource', 'risk', 'approval'] as const
export type DecisionStepName = (typeof decisionSteps)[number]

export interface DecisionStep {
  step: DecisionStepName
  outcome: 'allow' | 'deny' | 'ask'
  /** The rule that gave the answer: a policy field, a floor field, or a fixed rule's name. */
  rule: string
  /** What was judged: a tool name, a path, a host. Redacted. */
  subject: string
  /** Whose rule it was. */
  origin: 'document' | 'floor' | 'default' | 'runtime'
  /** What to change where the answer is no; empty otherwise. */
  remedy: string
}

/** `allow`: run it now. `ask`: a person must decide first. `deny`: final, no approval overrides it. */
export interface Decision {
  outcome: 'allow' | 'deny' | 'ask'
  /** One line that names rule, subject and remedy; empty for a plain allow. */
  reason: string
  /** Answers up to and including the first deny. */
  steps: DecisionStep[]
}

/** All that a decision may depend on: `decide` is pure over it. */
export interface DecisionInput {
  effect: EffectQuestion
  facts: Facts
  /** The plan's effective policy, values only, and where each came from. */
  policy: Policy
  origins: { [Field in keyof Policy]: 'document' | 'floor' | 'default' }
  /**
   * Whether a person can be asked at once: true only with somebody at a terminal (`--interactive`). False applies
   * `nonInteractive`: `pause` stays `ask` (a durable pause), `deny_approval` and `fail` turn it into their denials.
   */
  canPause: boolean
  /** What the host's floor says of isolation and images, beside the policy that it is part of already; absent = nothing. */
  hostFloor?: Pick<Floor, 'minimumIsolation' | 'images'> | null
}
