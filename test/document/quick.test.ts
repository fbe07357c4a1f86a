import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { placesOfItems } from '../../policy/document/yaml/places.ts'
import { readYaml } from '../../policy/document/yaml/read.ts'
import type { YamlFault } from '../../policy/document/yaml/tree.ts'
import { toValue } from '../../policy/document/yaml/value.ts'
import { mutate, seeds } from './fuzz.ts'

/** Reads a text the long way, and holds the quick way to it wherever that gave an answer; whether it did. */
function agree(text: string): boolean {
  const quick = readYaml(text).tree
  if (quick === null || quick.quick === null) return false
  const long = readYaml(text, false)
  expect(long.faults).toEqual([])
  if (long.tree === null) throw new Error('no tree')
  const faults: YamlFault[] = []
  expect(quick.quick.value).toEqual(toValue(long.tree, faults))
  expect(faults).toEqual([])
  for (const path of [[], ['a'], ['spec', 'tasks'], ['spec', 'varsFiles']]) {
    expect(placesOfItems(quick, path)).toEqual(placesOfItems(long.tree, path))
  }
  return true
}

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
    const texts = seeds().map(({ text }) => text)
    let quick = 0
    for (let seed = 1; seed <= 4000; seed++) if (agree(mutate(texts, seed))) quick++
    expect(quick).toBeGreaterThan(100)
  })

  it('on lines put together from what YAML is made of', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        'b',
        '1',
        '-1.5',
        '~',
        'true',
        '"q"',
        "'s'",
        '"e\\n"',
        ': ',
        ':',
        '- ',
        '-',
        ', ',
        ',',
        '[',
        ']',
        '{',
        '}',
        '? ',
      ],
      ...[
        '# c',
        ' # c',
        '#',
        '\n',
        '\n  ',
        '\n    ',
        '\n\n',
        ' ',
        '  ',
        '\t',
        '|\n',
        '|-\n',
        '>\n',
        '&x ',
        '*x',
        '!t ',
        '%',
        '@',
        '<<: ',
        '...',
        '---',
        '\r\n',
      ],
    )
    const text = fc.array(piece, { minLength: 1, maxLength: 14 }).map(pieces => pieces.join(''))
    fc.assert(
      fc.property(text, value => {
        agree(value)
      }),
      { numRuns: 20_000 },
    )
  })

  it('on values as `yaml` writes them', () => {
    const text = fc.string({ maxLength: 12, unit: fc.constantFrom(...'ab1 .:-#\'"\\\n,[]{}|>&*!%@~=?é') })
    const value = fc.letrec<{ v: unknown }>(tie => ({
      v: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('v'), { maxLength: 4 }),
        fc.dictionary(text, tie('v'), { maxKeys: 4 }),
      ),
    })).v
    let quick = 0
    fc.assert(
      fc.property(value, fc.constantFrom(20, 80, 0), fc.boolean(), (given, lineWidth, flow) => {
        const written = stringify(given, {
          version: '1.2',
          lineWidth,
          collectionStyle: flow ? 'flow' : 'any',
          aliasDuplicateObjects: false,
        })
        if (agree(written)) quick++
      }),
      { numRuns: 3000 },
    )
    expect(quick).toBeGreaterThan(500)
  })
})
