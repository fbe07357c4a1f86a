import fc from 'fast-check'
import { expect } from 'vitest'
import { stringify } from 'yaml'
import { placesOfItems } from '../../policy/document/yaml/places.ts'
import { readYaml } from '../../policy/document/yaml/read.ts'
import type { YamlFault } from '../../policy/document/yaml/tree.ts'
import { toValue } from '../../policy/document/yaml/value.ts'
import { seeds } from './fuzz/seeds.ts'
import { documentOfSeed, treesOf } from './fuzz/structural.ts'
import { textOf } from './fuzz/textual.ts'

/** Reads a text the long way, and holds the quick way to it wherever that gave an answer; whether it did. */
export function agree(text: string): boolean {
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

/** Texts near to documents; how many of them went the quick way. */
export function agreeOnMutations(count: number): number {
  const texts = seeds().map(({ text }) => text)
  let quick = 0
  const trees = treesOf(texts)
  for (let seed = 1; seed <= count; seed++) {
    if (agree(textOf(texts, seed))) quick++
    if (agree(documentOfSeed(trees, seed))) quick++
  }
  return quick
}

/** Lines put together from what YAML is made of. */
export function agreeOnPieces(numRuns: number): void {
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
    { numRuns },
  )
}

/** Values as `yaml` writes them; how many went the quick way. */
export function agreeOnValues(numRuns: number): number {
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
      const collectionStyle = flow ? 'flow' : 'any'
      if (agree(stringify(given, { version: '1.2', lineWidth, collectionStyle, aliasDuplicateObjects: false }))) quick++
    }),
    { numRuns },
  )
  return quick
}
