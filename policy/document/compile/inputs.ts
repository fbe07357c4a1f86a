import type { JsonObject } from '../../json.ts'
import { jsonFault } from '../../json-fault.ts'
import { nearest } from '../schema/fields.ts'
import type { Work } from './work.ts'

/** Defaults under the given values. */
export function effectiveInputs(defaults: JsonObject, given: JsonObject): JsonObject {
  return { ...defaults, ...given }
}

/** Given inputs without those that could not be recorded as they are; `reportUnusable` tells of them. */
export function usableInputs(given: JsonObject): JsonObject {
  const faulty = new Set(faultsOf(given).map(([name]) => name))
  if (faulty.size === 0) return given
  return Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name)))
}

/** Reports given inputs that could not be recorded as they are. Documents hold no such values, command lines may. */
export function reportUnusable({ reporter }: Work, given: JsonObject): void {
  for (const [name, fault] of faultsOf(given))
    reporter.report(['spec', 'inputs'], {
      code: 'schema_violation',
      message: `the value given for input \`${name.toWellFormed()}\` cannot be used: ${fault}`,
      help: 'give another value',
    })
}

function faultsOf(given: JsonObject): [name: string, fault: string][] {
  return Object.entries(given).flatMap(([name, value]): [string, string][] => {
    const fault = jsonFault({ [name]: null }) ?? jsonFault(value)
    return fault === null ? [] : [[name, fault]]
  })
}

/** Refuses a given input that the document neither declares nor reads: most likely a typing error. */
export function checkGivenInputs(work: Work, given: JsonObject): void {
  const { document, reporter } = work
  const declared = document.workflow.spec.inputs
  const undeclared = Object.keys(given).filter(name => !Object.hasOwn(declared, name))
  if (undeclared.length === 0 || document.lost.has('inputs')) return
  const text = JSON.stringify(document.value)
  for (const name of undeclared) {
    if (readsInput(text, name)) continue
    const close = nearest(name, Object.keys(declared))
    const known = Object.keys(declared)
    const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
    reporter.report(['spec', 'inputs'], {
      code: 'missing_reference',
      message: `the document has no input \`${name}\``,
      help: close === null ? list : `did you mean \`${close}\`?`,
    })
  }
}

function readsInput(text: string, name: string): boolean {
  const reference = `inputs.${name}`
  for (let at = text.indexOf(reference); at >= 0; at = text.indexOf(reference, at + 1)) {
    const next = text[at + reference.length] ?? ''
    if (!/[A-Za-z0-9_-]/.test(next)) return true
  }
  return false
}
