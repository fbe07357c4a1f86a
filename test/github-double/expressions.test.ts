import { expect, test } from 'vitest'
import { evaluate, holds, interpolate } from '../github/runner/expressions.ts'

// https://docs.github.com/en/actions/reference/evaluate-expressions-in-workflows-and-actions

const contexts = {
  github: { ref: 'refs/heads/main', actor: 'Dependabot[bot]', event: { list: ['a', 'B'], 'odd name': { deep: 3 } } },
  inputs: { on: true, empty: '', zero: 0 },
}

test.each([
  ["github.ref == 'refs/heads/main'", true],
  ["github.actor == 'dependabot[bot]'", true],
  ["github.actor != 'x' && inputs.on", true],
  ["inputs.empty || inputs.zero || 'last'", 'last'],
  ["!inputs.on == false && !(inputs.on && 'x' == 'y')", true],
  ["1 == '1'", true],
  ['null == 0', true],
  ["'' == 0", true],
  ['true == 1', true],
  ["'a' == 1", false],
  ['2 >= 1.5 && 1 < 2 && -1 <= 0 && 0x10 > 15', true],
  ["github.event['odd name'].deep", 3],
  ['github.event.list[1]', 'B'],
  ['github.none.of.it', null],
  ["'it''s'", "it's"],
  ["contains(github.event.list, 'b')", true],
  ["contains('Hello', 'ELL') && startsWith('Hello', 'he') && endsWith('Hello', 'LO')", true],
  ["format('{0}-{1}', 'a', 2)", 'a-2'],
  ["join(github.event.list, '+')", 'a+B'],
  ['fromJSON(\'{"a": [1, 2]}\').a[1]', 2],
  ['toJSON(inputs.none)', 'null'],
])('%s', (expression, value) => {
  expect(evaluate(expression, contexts)).toEqual(value)
})

test.each(['a ==', '(a', 'a b', "'open", "hashFiles('x')", 'a ~ b', ''])('%j is refused', expression => {
  expect(() => evaluate(expression, contexts)).toThrow()
})

test('a template keeps its text and writes null as nothing, objects as a word', () => {
  expect(interpolate('<${{ github.none }}|${{ github.event }}|${{ inputs.on }}|${{ 1 }}>', contexts)).toBe(
    '<|Object|true|1>',
  )
})

test('a condition without a status function asks for success first', () => {
  const failed = { success: false, failure: true, cancelled: false }
  const fine = { success: true, failure: false, cancelled: false }
  expect([holds(undefined, {}, fine), holds(undefined, {}, failed)]).toEqual([true, false])
  expect([holds('inputs.on', contexts, fine), holds('inputs.on', contexts, failed)]).toEqual([true, false])
  expect(holds('${{ failure() && inputs.on }}', contexts, failed)).toBe(true)
  expect(holds('always() && inputs.none', contexts, fine)).toBe(false)
  expect(holds('!cancelled()', contexts, failed)).toBe(true)
})
