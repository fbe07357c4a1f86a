import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digest } from '../../policy/canonical.ts'
import { evaluateCondition, resolveValue, type Scope } from '../../policy/document/index.ts'
import type { Json } from '../../policy/json.ts'

const scope: Scope = {
  inputs: {
    name: 'world',
    count: 3,
    zero: 0,
    on: true,
    off: false,
    none: null,
    list: [1, 2],
    map: { deep: { x: 1 } },
    empty: {},
  },
  vars: { region: 'eu', 'with-dash': 'd' },
  memory: { key: 'kept' },
  tasks: { build: { output: { output: { version: '1.2' }, status: 'changed' } }, 'a--0001': { output: 'text' } },
}

describe('resolveValue', () => {
  it.each<[Json, Json]>([
    ['plain', 'plain'],
    ['${{ inputs.name }}', 'world'],
    ['${{inputs.name}}', 'world'],
    ['hello, ${{ inputs.name }}!', 'hello, world!'],
    ['${{ inputs.count }}', 3],
    ['n=${{ inputs.count }}', 'n=3'],
    ['${{ inputs.none }}', null],
    ['x${{ inputs.none }}', 'xnull'],
    ['${{ inputs.list }}', [1, 2]],
    ['${{ inputs.map.deep }}', { x: 1 }],
    ['${{ tasks.build.output }}', { output: { version: '1.2' }, status: 'changed' }],
    ['${{ tasks.build.output.output.version }}', '1.2'],
    ['${{ tasks.a--0001.output }}', 'text'],
    ['${{ vars.with-dash }}${{ memory.key }}', 'dkept'],
    ['${{ inputs.count == 3 }}', true],
    ['${{ not inputs.on }}', false],
    [' ${{ inputs.count }}', ' 3'],
    [
      { a: ['${{ inputs.on }}'], b: 1 },
      { a: [true], b: 1 },
    ],
    ['$ {{ inputs.name }} {{x}} $${{ inputs.count }}', '$ {{ inputs.name }} {{x}} $3'],
  ])('%j', (value, expected) => {
    expect(resolveValue(value, scope)).toEqual({ ok: true, value: expected })
  })

  it.each([
    ['${{ inputs.missing }}', '`inputs` has no `missing`'],
    ['${{ inputs.map.deep.y }}', '`inputs.map.deep` has no `y`'],
    ['${{ inputs.name.length }}', '`inputs.name` has no `length`'],
    ['${{ inputs.list.0 }}', '`inputs.list` has no `0`'],
    ['${{ inputs.constructor }}', '`inputs` has no `constructor`'],
    ['${{ inputs.map.__proto__ }}', '`inputs.map` has no `__proto__`'],
    ['${{ tasks.other.output }}', 'task `other` has no output yet'],
    ['${{ tasks.toString.output }}', 'task `toString` has no output yet'],
    ['${{ tasks.build.state }}', 'of a task only its output can be read, `tasks.build.output`'],
    ['${{ tasks.build }}', 'of a task only its output can be read'],
    ['a ${{ inputs.list }}', 'inside a text only scalars can stand'],
    ['a ${{ inputs.map }}', 'inside a text only scalars can stand'],
    ['a ${{ inputs.on == true }}', 'must be the whole value'],
    ['${{ }}', 'empty'],
    ['${{ inputs.name', 'not closed'],
    ['${{ inputs.name }', 'not closed'],
    ['${{ inputs }}', 'not a complete path'],
    ['${{ inputs..name }}', 'not a complete path'],
    ['${{ inputs.name. }}', 'not a complete path'],
    ['${{ env.HOME }}', 'starts with none of inputs, vars, memory, tasks'],
    ['${{ secrets.X }}', 'starts with none of'],
    ['${{ inputs.count + 1 }}', 'not understood'],
    ['${{ inputs.list[0] }}', 'not understood'],
    ['${{ toJSON(inputs.map) }}', 'starts with none of'],
    ['${{ inputs.on && inputs.off }}', 'not understood'],
    ['${{ inputs.a == inputs.b }}', 'a path cannot stand on the right'],
    ['${{ inputs.count == }}', 'a value is missing'],
    ['${{ inputs.count < "3" }}', 'compares numbers'],
    ['${{ inputs.count == 1e999 }}', 'cannot carry exactly'],
    ['${{ inputs.count == 9007199254740993 }}', 'cannot carry exactly'],
    ["${{ inputs.name == 'open }}", 'does not end'],
  ])('%s fails', (value, message) => {
    const result = resolveValue(value, scope)
    expect(result.ok).toBe(false)
    expect(result.ok ? '' : result.message).toContain(message)
  })

  it('never parses what a template gave', () => {
    const hostile: Scope = { ...scope, inputs: { text: '${{ memory.key }}' } }
    expect(resolveValue({ a: '${{ inputs.text }}', b: 'x ${{ inputs.text }}' }, hostile)).toEqual({
      ok: true,
      value: { a: '${{ memory.key }}', b: 'x ${{ memory.key }}' },
    })
  })

  it('bounds what templates give', () => {
    const large: Scope = { ...scope, inputs: { text: 'x'.repeat(1_000_000) } }
    const within = resolveValue(Array(16).fill('${{ inputs.text }}'), large)
    const beyond = resolveValue('${{ inputs.text }} '.repeat(20), large)
    expect([within.ok, beyond.ok]).toEqual([true, false])
  })

  it('bounds how deeply templates nest what they give, so that no record leaves a part of it out', () => {
    const nested = (levels: number, value: Json): Json =>
      Array.from({ length: levels }).reduce<Json>(below => [below], value)
    const deep: Scope = { ...scope, inputs: { list: nested(100, 1) } }
    expect(resolveValue(nested(60, '${{ inputs.list }}'), deep).ok).toBe(true)
    expect(resolveValue(nested(61, '${{ inputs.list }}'), deep)).toEqual({
      ok: false,
      message: 'the templates give a value with more than 160 levels',
    })
    expect(resolveValue([nested(60, '${{ inputs.list }}'), '${{ inputs.list }}'], deep).ok).toBe(false)
    expect(resolveValue([nested(59, '${{ inputs.list }}'), '${{ inputs.list }}'], deep).ok).toBe(true)
  })
})

describe('evaluateCondition', () => {
  it.each([
    ['${{ inputs.on }}', true],
    ['${{ inputs.off }}', false],
    ['inputs.on', true],
    ['${{ not inputs.off }}', true],
    ['${{ inputs.none }}', false],
    ['${{ inputs.zero }}', false],
    ['${{ inputs.empty }}', false],
    ['${{ inputs.list }}', true],
    ['${{ inputs.name }}', true],
    ["${{ inputs.name == 'world' }}", true],
    ['${{ inputs.name == "wor\\u006cd" }}', true],
    ["${{ inputs.name != 'world' }}", false],
    ["${{ not inputs.name == 'world' }}", false],
    ['${{ inputs.count == 3 }}', true],
    ['${{ inputs.count == 3.0 }}', true],
    ["${{ inputs.count == '3' }}", false],
    ['${{ inputs.count != "3" }}', true],
    ['${{ inputs.none == null }}', true],
    ['${{ inputs.off == null }}', false],
    ['${{ inputs.list == [1, 2] }}', true],
    ['${{ inputs.list == [2, 1] }}', false],
    ['${{ inputs.map == {"deep": {"x": 1}} }}', true],
    ['${{ inputs.map == {"deep":{"x":2}}}}', false],
    ['${{ inputs.count < 4 }}', true],
    ['${{ inputs.count <= 3 }}', true],
    ['${{ inputs.count > 3 }}', false],
    ['${{ inputs.count>=3 }}', true],
    ['${{ inputs.count > -1.5e2 }}', true],
    ["${{ inputs.name == '}}' }}", false],
    ['${{\n  inputs.on\t}}', true],
  ])('%j is %s', (expression, result) => {
    expect(evaluateCondition(expression, scope)).toMatchObject({ ok: true, result })
  })

  it.each([
    ['${{ inputs.missing }}', 'is missing'],
    ['${{ not inputs.missing }}', 'is missing'],
    ['${{ inputs.name < 3 }}', 'compares numbers'],
    ['${{ inputs.none < 3 }}', 'compares numbers'],
    ['true', 'starts with none of'],
    ['${{ inputs.on }} and more', 'nothing beside it'],
    ['${{ not not inputs.on }}', 'starts with none of'],
    ['${{ inputs.on }}${{ inputs.on }}', 'nothing beside it'],
  ])('%s fails', (expression, message) => {
    const result = evaluateCondition(expression, scope)
    expect(result.ok ? '' : result.message).toContain(message)
  })

  it('keeps the expression, and a digest of exactly what it read', () => {
    expect(evaluateCondition('${{ inputs.count >= 3 }}', scope)).toEqual({
      ok: true,
      result: true,
      expression: 'inputs.count >= 3',
      contextDigest: digest({ 'inputs.count': 3 }),
    })
  })
})

describe('properties', () => {
  /** Pieces that a hostile author would reach for, in any order. */
  const piece = fc.oneof(
    fc.constantFrom(
      '${{',
      '}}',
      ' ',
      'inputs',
      '.',
      'a',
      '__proto__',
      'constructor',
      'not ',
      '==',
      '<',
      "'",
      '"',
      '[',
      '{',
      '(',
      ')',
    ),
    fc.constantFrom('process.exit(1)', 'globalThis.hit=1', '`${globalThis.hit=1}`', ';', '\\', '\n', 'require("fs")'),
    fc.string({ maxLength: 6, unit: 'binary' }),
  )
  const text = fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join(''))

  it('evaluates no code, reaches no prototype, and never throws', () => {
    fc.assert(
      fc.property(text, value => {
        const result = resolveValue(value, { inputs: { a: 1 }, vars: {}, memory: {}, tasks: {} })
        evaluateCondition(value, { inputs: { a: 1 }, vars: {}, memory: {}, tasks: {} })
        expect(globalThis).not.toHaveProperty('hit')
        // What comes out is made of the text and of the one value in scope.
        if (result.ok && typeof result.value !== 'string') expect([1, true, false]).toContain(result.value)
      }),
      { numRuns: 3000 },
    )
  })

  it('gives back the very value for an exact template', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
        const given = { inputs: { a: value as Json }, vars: {}, memory: {}, tasks: {} }
        expect(resolveValue('${{ inputs.a }}', given)).toEqual({ ok: true, value })
      }),
    )
  })

  it('takes time in proportion to the text', () => {
    const hostile = [
      '${{ '.repeat(200_000),
      '${{ inputs.a == [['.repeat(30_000),
      `\${{ ${'a.'.repeat(300_000)} }}`,
      `\${{ inputs.a${' '.repeat(500_000)}`,
    ]
    for (const value of hostile) {
      const before = process.cpuUsage()
      expect(resolveValue(value, scope).ok).toBe(false)
      expect(process.cpuUsage(before).user).toBeLessThan(1e6)
    }
  })
})
