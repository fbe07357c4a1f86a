import type { Refusal } from '../../policy/decision/index.ts'
import { ExecutorError } from '../executor.ts'

/** A reference that gives no value, and the rule that says so. */
export class SecretRefused extends ExecutorError {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.rule, `${refusal.detail}; ${refusal.change}`)
    this.refusal = refusal
  }
}
