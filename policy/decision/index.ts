/**
 * What may happen: the policy of a document, the floor it is met with, and the five decisions about each effect. Pure and
 * synchronous; unknown, absent or erroring is a deny that says why and what to change.
 */
export { type CompiledPolicy, compiledPolicy } from './compiled.ts'
export { decide } from './decide.ts'
export type {
  Decision,
  DecisionInput,
  DecisionStep,
  DecisionStepName,
  EffectQuestion,
} from './decision.ts'
export { decisionSteps } from './decision.ts'
export {
  type EffectiveResult,
  effectivePolicy,
  type FloorViolation,
  policyOrigins,
  policyValues,
  underHostFloor,
} from './effective.ts'
export type {
  EnvironmentFact,
  Facts,
  PathFact,
  ProcessFact,
  SecretFileFact,
  SecretHelperFact,
  Unknown,
  VariableFact,
  WriteFact,
} from './facts.ts'

export {
  durationSchema,
  type Floor,
  floorDigest,
  floorSchema,
  floorValue,
  type Permission,
  parseDuration,
  permissions,
} from './floor.ts'
export { matchesGlob } from './globs.ts'
export {
  compileHostRules,
  type HostRules,
  hostAllowed,
  hostRuleMatches,
  normalizeHost,
  normalizeHostRule,
} from './hosts.ts'
export { meetFloors } from './meet.ts'
export { type Address, addressText, parseAddress } from './network/address.ts'
export { type AddressClass, type Classified, classify } from './network/address-class.ts'
export type { NetworkFact } from './network/fact.ts'
export {
  judgeAnswer,
  judgeNetwork,
  judgeTarget,
  type NetworkRefusal,
  type NetworkRules,
  sortAddresses,
} from './network/judge.ts'
export {
  bareHost,
  originOfTarget,
  parseTarget,
  type Target,
  type TargetFaultCause,
  type TargetResult,
  targetRemedies,
} from './network/target.ts'
export type { ApprovalMode, NetworkPolicy, NonInteractiveMode, Policy } from './policy.ts'
export { remedyFor } from './question.ts'
export { type FloorResult, parseFloor } from './read-floor.ts'
export type { Refusal } from './refusal.ts'
export { policyDefaults, policySchema, secretReferenceSchema, type WrittenPolicy, withDefaults } from './schema.ts'
export { refusedSecret, refusedSource, type SecretRules } from './secrets.ts'
export {
  approvalSettings,
  bindingSettings,
  floorSettings,
  meetAll,
  nobodyListed,
  type SettingsInputs,
  type SettingsResult,
  stricterSettings,
} from './settings.ts'
