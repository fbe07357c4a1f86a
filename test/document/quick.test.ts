import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { agree, agreeOnMutations, agreeOnPieces, agreeOnValues } from './both-ways.ts'
import { seeds } from './fuzz/seeds.ts'

describe('a plainly written document', () => {
  it.each([
    'a: 1\nb:\n  - x\n  - y: z\n    w: [1, "two", {three: 3}]\n',
    "a: # comment\n  b: \"q\" # another\n\n# whole line\nc: 'it''s'\n",
    'a: |\n  one\n    two\n\n  three\n\nb: |-\n  x\n',
    'a: "\\n\\u00e9\\ud83d\\ude00"\nb: -0\nc: .5\nd: +1\ne: 1.\nf: 1e3\ng: 01\n',
    '- a\n- - b\n  - c\n-\n  d: e\n- \n',
    'a: {}\nb: []\nc: [\n  x,\n  y,\n]\nd: {x: 1,\n  "y": 2}\n',
    'key with spaces: value with:colon\nurl: http://x/y#z\n1: one\ntrue: two\n~: three\n',
    '{"a": [1, {"b": null}], "c": "d"}',
    'a: 1\r\nb: x y\r\n',
    'plain',
    '"quoted"',
  ])('%j is read the quick way, and alike', text => {
    expect(agree(text)).toBe(true)
  })

  it('is what people write: the seeds and what `yaml` writes', () => {
    expect(seeds().filter(({ text }) => agree(text)).length).toBeGreaterThan(0)
    const value = { a: [1, 'x', { b: 'two words', c: ['d'] }], e: { f: null, g: true } }
    expect(agree(stringify(value))).toBe(true)
    expect(agree(JSON.stringify(value, null, 2))).toBe(true)
  })
})

it.each([
  'a: &x 1',
  'a: *x',
  'a: !t 1',
  '<<: {a: 1}',
  '? a\n: b',
  'a: 1\na: 2',
  '__proto__: 1',
  'a: b\n  c',
  'a: "b\n  c"',
  'a: "\\x41"',
  'a: >\n  b',
  'a: |2\n   b',
  'a: 0x1F',
  'a: .inf',
  'a: 9007199254740993',
  'a:\tb',
  'a: b: c',
  '["a"#c\n, b]',
  '--- a',
  'a\n---\nb',
  '[a, , b]',
  '{a, b: 1}',
  '[a: 1]',
  '- a\n b: c',
  'a: |\nb',
  '"a"#c\n: 1',
])('%j is looked at the long way', text => {
  expect(agree(text)).toBe(false)
})

describe('both ways agree', () => {
  it('on texts near to documents', () => {
    expect(agreeOnMutations(4000)).toBeGreaterThan(100)
  })

  it('on lines put together from what YAML is made of', () => {
    agreeOnPieces(20_000)
  })

  it('on values as `yaml` writes them', () => {
    expect(agreeOnValues(3000)).toBeGreaterThan(500)
  })
})
