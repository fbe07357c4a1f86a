import fc from 'fast-check'
import { expect, it } from 'vitest'
import { matchesGlob } from '../../policy/decision/index.ts'

it.each<[string, string, boolean]>([
  ['acme/*', 'acme/app', true],
  ['acme/*', 'acme/.github', true],
  ['acme/*', 'acme/', true],
  ['acme/*', 'other/acme/app', false],
  ['*', 'acme/app', true],
  ['**', 'acme/.a', true],
  ['acme/a*b*b', 'acme/ab', false],
  ['acme/a*b*b', 'acme/abb', true],
  ['acme/a*a', 'acme/a', false],
  ['acme/app', 'acme/app', true],
  ['acme/app', 'acme/app2', false],
  ['acme/a.p', 'acme/aXp', false],
  ['acme/[ab]', 'acme/a', false],
  ['acme/[ab]', 'acme/[ab]', true],
  ['', '', true],
])('%s, %s: %s', (pattern, text, isMatch) => {
  expect(matchesGlob(pattern, text)).toBe(isMatch)
})

it('is what its text says: `*` for any characters, everything else for itself', () => {
  const part = fc.string({ unit: fc.constantFrom('a', 'b', '.', '/'), maxLength: 4 })
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 4 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '.', '/'), maxLength: 9 }),
      (parts, text) => {
        const meant = new RegExp(`^${parts.map(one => one.replaceAll('.', '\\.')).join('.*')}$`)
        expect(matchesGlob(parts.join('*'), text)).toBe(meant.test(text))
      },
    ),
    { numRuns: 3_000 },
  )
})
