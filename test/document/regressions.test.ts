import { describe, expect, it } from 'vitest'
import { holds } from './fuzz/holds.ts'
import { build, shown, workflow } from './support.ts'

const assign = 'actions: {x: {kind: builtin.assign}}\n'
const task = (fields: string): string => workflow(`${assign}tasks: [{id: a, uses: "action:x", ${fields}}]\n`)

/** What fuzzing found, each once an exception, with what is said now. */
describe('found by fuzzing', () => {
  it.each<[string, string, string]>([
    ['half a surrogate pair in a value', task('with: {v: "\\ud800"}'), 'not well-formed Unicode'],
    ['in an item that expands', task('foreach: {items: ["\\ud800", "\\udc00"]}'), 'not well-formed Unicode'],
    ['in an axis', task('matrix: {axes: {n: ["\\ud800"]}}'), 'not well-formed Unicode'],
    ['in a key', task('with: {"\\ud800": 1}'), 'not well-formed Unicode'],
    ['in a key with an anchor', task('with: {&k "\\ud800": *k}'), 'not well-formed Unicode'],
    [
      'in a name of an action',
      workflow('actions: {"\\ud800": {kind: builtin.assign}}\ntasks: [{id: a, uses: router}]\n'),
      'not well-formed Unicode',
    ],
    [
      'in variables',
      workflow(`${assign}vars: {v: "\\ud800"}\ntasks: [{id: a, uses: "action:x"}]\n`),
      'not well-formed Unicode',
    ],
  ])('%s', (_, text, message) => {
    holds(text)
    expect(shown(build(text).diagnostics).join('\n')).toContain(message)
  })

  it('a pair of escapes is a character like any other', () => {
    expect(build(task('with: {v: "\\ud83d\\ude00"}')).plan?.tasks['a']?.with).toEqual({ v: '😀' })
  })

  const deep = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>(below => [below], 1)
  it.each<[string, { [name: string]: unknown }, string]>([
    ['half a surrogate pair', { v: 'a\ud800' }, 'half of a surrogate pair'],
    ['the same in a name', { '\ud800': 1 }, 'half of a surrogate pair'],
    ['the same in a key', { v: { '\udfff': 1 } }, 'half of a surrogate pair'],
    ['a number that JSON cannot carry', { v: Number.POSITIVE_INFINITY }, 'too large'],
    ['a number that would lose digits', { v: 2 ** 53 }, 'would lose digits'],
    ['65 levels', { v: deep(65) }, 'nested more than 64 levels deep'],
    ['20,000 levels', { v: deep(20_000) }, 'nested more than 64 levels deep'],
    ['a key that is no key', { v: JSON.parse('{"__proto__": 1}') }, '`__proto__`'],
  ])('a given input with %s is refused by name', (_, inputs, message) => {
    const text = workflow(
      `inputs: {v: 1}\n${assign}tasks: [{id: a, uses: "action:x", with: {v: "\${{ inputs.v }}"}}]\n`,
    )
    const { plan, diagnostics } = build(text, { inputs: inputs as never })
    expect(plan).toBeNull()
    expect(diagnostics[0]?.message).toContain(message)
    expect(diagnostics[0]).toMatchObject({ code: 'schema_violation', path: 'spec.inputs' })
  })

  it('64 levels are well', () => {
    const text = workflow(
      `inputs: {v: 1}\n${assign}tasks: [{id: a, uses: "action:x", with: {v: "\${{ inputs.v }}"}}]\n`,
    )
    expect(build(text, { inputs: { v: deep(63) } as never }).plan).not.toBeNull()
  })

  const chain = (levels: number, last: object): string => {
    const task = (next: number): object => (next === levels ? last : { id: 'x', uses: `workflow:f${next}` })
    const subworkflows = Object.fromEntries(
      Array.from({ length: levels }, (_, index) => [
        `f${index}`,
        { version: '1', inputSchema: true, outputSchema: true, tasks: [task(index + 1)] },
      ]),
    )
    const spec = { actions: { x: { kind: 'builtin.assign' } }, subworkflows, tasks: [{ id: 'a', uses: 'workflow:f0' }] }
    return JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'n' }, spec })
  }
  it.each([
    ['one within another', { id: 'x', uses: 'action:x' }],
    ['in a circle', { id: 'x', uses: 'workflow:f0' }],
  ])('thousands of sub-workflows, %s', (_, last) => {
    const { plan, diagnostics } = build(chain(6_000, last))
    expect(plan).toBeNull()
    expect(diagnostics[0]?.message).toContain('an expanded id has at most 200')
  })
})
