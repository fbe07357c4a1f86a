import assert from 'node:assert/strict'
import type { Floor } from '../../policy/decision/index.ts'
import { compile, type Diagnostic, mergeDiagnostics, type Plan, parseDocument } from '../../policy/document/index.ts'
import * as versions from '../../policy/document/packs/ranges.ts'
import type { JsonObject } from '../../policy/json.ts'
import * as jsonSchemas from '../../policy/json-schema/index.ts'

/** A whole document around the lines of its `spec`, which are indented by two here. */
export function workflow(
  spec: string,
  head = 'apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: {name: test}\n',
): string {
  const lines = spec.split('\n').filter(line => line.trim() !== '')
  const margin = Math.min(...lines.map(line => line.length - line.trimStart().length))
  return `${head}spec:\n${lines.map(line => `  ${line.slice(margin)}`).join('\n')}\n`
}

/** One action and one task that uses it: the smallest `spec`. */
export const smallest = `
  actions: {assign: {kind: builtin.assign}}
  tasks: [{id: a, uses: "action:assign"}]
`

export interface Options {
  inputs?: JsonObject
  files?: { [path: string]: string }
  floor?: Floor | null
  vars?: JsonObject
  requireInputs?: boolean
  file?: string
}

/** Parses and compiles as a face does. Whatever is found says what to change. */
export function build(text: string, options: Options = {}): { plan: Plan | null; diagnostics: Diagnostic[] } {
  const built = parseAndCompile(text, options)
  for (const { message, help } of built.diagnostics) assert.ok(/\w/.test(help), `no remedy for: ${message}`)
  return built
}

function parseAndCompile(text: string, options: Options): { plan: Plan | null; diagnostics: Diagnostic[] } {
  const { inputs = {}, files = {}, floor = null, file = 'test.yaml', ...rest } = options
  const { document, diagnostics } = parseDocument({ text, file })
  if (document === null) return { plan: null, diagnostics }
  const compiled = compile({ document, inputs, files, floor, jsonSchemas, versions, ...rest })
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning')
  return { plan: compiled.plan, diagnostics: mergeDiagnostics(warnings, compiled.diagnostics) }
}

/** The plan of a document that must compile. */
export function planOf(text: string, options: Options = {}): Plan {
  const { plan, diagnostics } = build(text, options)
  if (plan === null) throw new Error(`no plan: ${shown(diagnostics).join('\n')}`)
  return plan
}

/** `line:column code message` of each finding. */
export function shown(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.map(({ line, column, code, message }) => `${line}:${column} ${code} ${message}`)
}
