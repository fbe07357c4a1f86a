import type { ExpectedEffect } from '../../policy/approval/record.ts'
import type { Json } from '../../policy/json.ts'
import { type EffectResult, ExecutorError, type Prepared, type Running } from '../executor.ts'

/** A prepared effect that holds nothing and gives its result at once. */
export function immediate(expected: ExpectedEffect, act: () => EffectResult): Prepared {
  return {
    facts: { kind: 'none' },
    binding: {},
    expected,
    predictability: 'full',
    unchanged: null,
    start: () => settled(act()),
    close() {},
  }
}

/** A running effect that has ended already. */
export function settled(result: EffectResult): Running {
  return { wait: Promise.resolve(result), kill: async () => {} }
}

/** A result without artifacts. */
export function succeeded(output: Json): EffectResult {
  return { kind: 'succeeded', output, artifacts: [] }
}

/** A member of an action's input that must be text. Throws ExecutorError. */
export function textOf(input: { [name: string]: Json }, name: string, kind: string): string {
  const value = input[name]
  if (typeof value === 'string') return value
  const given = value === undefined ? 'nothing' : JSON.stringify(value)
  throw new ExecutorError('invalid_input', `${kind} needs \`with.${name}\` as a string; it is ${given.slice(0, 200)}`)
}
