import { describe, expect, it } from 'vitest'
import { inRange } from '../../policy/document/packs/ranges.ts'
import { packApiVersion, packSchema } from '../../policy/document/packs/schema.ts'

describe('ranges of versions', () => {
  it.each([
    ['1.4.0', '^1.0', true],
    ['2.0.0', '^1.0', false],
    ['1.4.0', '1.0', true],
    ['2.0.0', '1.0', false],
    ['1.2.3', '1.2.2', true],
    ['0.3.1', '0.3', true],
    ['0.4.0', '0.3', false],
    ['0.3.0', '>=0.3.0, <1.0.0', true],
    ['1.0.0', '>=0.3.0, <1.0.0', false],
    ['0.3.0', '>=0.3.0 <1.0.0', true],
    ['0.3.0', '>= 0.3.0, < 1.0.0', true],
    ['1.2.9', '~1.2', true],
    ['1.3.0', '~1.2', false],
    ['1.2.0', '=1.2.0', true],
    ['1.2.1', '=1.2.0', false],
    ['7.1.2', '*', true],
    ['1.9.0', '1.*', true],
    ['1.1.0-rc.1', '^1.0', false],
    ['1.1.0-rc.2', '>=1.1.0-rc.1', true],
  ])('%s in %s: %s', (version, range, expected) => {
    expect(inRange(version, range)).toBe(expected)
  })

  it.each([
    '',
    ' ',
    ',',
    'latest',
    '^',
    '>=',
    '1.0 || 2.0',
    '1.0.0 - 2.0.0',
    '^1.0.0.0',
    'v1',
    '>1.x.y',
    '^1'.repeat(200),
  ])('does not understand %j', range => {
    expect(inRange('1.0.0', range)).toBeNull()
  })
})

describe('the version of a pack', () => {
  it.each([
    ['1.0.0', true],
    ['1.0.0-rc.1+build.5', true],
    ['1.0', false],
    ['v1.0.0', false],
    [' 1.0.0', false],
    ['1.0.0 ', false],
    ['', false],
  ])('%j is one: %s', (version, expected) => {
    const manifest = { apiVersion: packApiVersion, name: 'a', version, agentctl: '*' }
    expect(packSchema.safeParse(manifest).success).toBe(expected)
  })

  it('that no computer can count to lies in no range', () => {
    expect(inRange('1.0.99999999999999999999', '*')).toBe(false)
  })
})
