import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { canonical, digest, sha256, sha256OfParts } from '../../policy/canonical.ts'
import { parseDocument, planDigest, workflowDigest } from '../../policy/document/index.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { planOf, smallest, workflow } from './support.ts'

describe('canonical form', () => {
  it('gives back the value, with the keys of every object in order', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), value => {
        const text = canonical(value as Json)
        const read: Json = JSON.parse(text, (_, part) => {
          const keys = typeof part === 'object' && part !== null && !Array.isArray(part) ? Object.keys(part) : []
          // Integer-like keys come first in any object of ECMAScript, whatever the text says.
          const named = keys.filter(key => !/^\d+$/.test(key))
          expect(named).toEqual(named.toSorted())
          return part
        })
        expect(canonical(read)).toBe(text)
        expect(read).toEqual(JSON.parse(JSON.stringify(value)))
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    [
      { '\u20ac': 1, '\r': 2, '\ud83d\ude00': 3, '1': 4, '\ufb33': 5, a: 6 },
      '{"\\r":2,"1":4,"a":6,"\u20ac":1,"\ud83d\ude00":3,"\ufb33":5}',
    ],
    [
      [1e21, 1e-7, 0.000001, -0, 333333333.3333333, 9007199254740991],
      '[1e+21,1e-7,0.000001,0,333333333.3333333,9007199254740991]',
    ],
    ['\u0000\u001f"\\/\u007f\u2028', '"\\u0000\\u001f\\"\\\\/\u007f\u2028"'],
    [{ absent: undefined } as unknown as Json, '{}'],
  ])('%j', (value, text) => {
    expect(canonical(value)).toBe(text)
  })

  it.each([[Number.NaN], [Number.POSITIVE_INFINITY], ['\ud800'], [undefined], [() => 1], [1n]])('refuses %s', value => {
    expect(() => canonical(value as unknown as Json)).toThrow(TypeError)
  })

  it('is hashed the same in parts', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), parts => {
        expect(sha256OfParts(parts)).toBe(sha256(parts.join('')))
      }),
    )
  })
})

/** The same value with the keys of every object in another order. */
function shuffled(value: Json, seed: number): Json {
  if (Array.isArray(value)) return value.map(item => shuffled(item, seed))
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value)
  const turned = keys.map((_, index) => keys[(index + seed) % keys.length] ?? '')
  return Object.fromEntries(turned.map(key => [key, shuffled(value[key] ?? null, seed + 1)]))
}

const plainText = fc
  .string({ maxLength: 20 })
  .filter(text => text.isWellFormed() && !/[\u0000-\u001f\u007f\ufeff\ufffe\uffff]/.test(text) && !text.includes('${{'))
const plain: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    plainText,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      plainText.filter(key => key !== '__proto__' && key !== ''),
      tie('value'),
      { maxKeys: 3 },
    ),
  ),
})).value

/** Documents with a random graph and random data. */
const documents: fc.Arbitrary<JsonObject> = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat(20), { maxLength: 3 }),
      with: fc.dictionary(fc.constantFrom('a', 'b', 'c'), plain),
    }),
    { minLength: 1, maxLength: 8 },
  )
  .map(list => ({
    apiVersion: 'agentctl.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'random', labels: { x: 'y', a: 'b' } },
    spec: {
      inputs: { one: 1, two: { b: 1, a: 2 } },
      actions: {
        zeta: { kind: 'builtin.assign' },
        alpha: { kind: 'builtin.shell.exec', command: 'x' },
        beta: { kind: 'builtin.shell.exec', command: 'y' },
      },
      tasks: list.map((task, index) => ({
        id: `t${index}`,
        uses: 'action:zeta',
        needs: task.needs.filter(need => need < index).map(need => `t${need}`),
        with: task.with,
      })),
    },
  }))

describe('digests', () => {
  it('do not change with key order, layout or comments', () => {
    fc.assert(
      fc.property(documents, fc.nat(5), fc.constantFrom(2, 4, 8), (value, seed, indent) => {
        const one = planOf(stringify(value, { version: '1.2', aliasDuplicateObjects: false }))
        const other = planOf(
          `# comment\n${stringify(shuffled(value, seed), { version: '1.2', indent, lineWidth: 20, aliasDuplicateObjects: false })}`,
        )
        const json = planOf(JSON.stringify(value))
        expect([other.workflowDigest, other.planDigest]).toEqual([one.workflowDigest, one.planDigest])
        expect([json.workflowDigest, json.planDigest]).toEqual([one.workflowDigest, one.planDigest])
      }),
      { numRuns: 150 },
    )
  })

  it('change with every value, input, file and name', () => {
    const text = `${workflow(smallest)}  inputs: {a: 1}\n  varsFiles: [v.yaml]\n`
    const files = { 'v.yaml': 'x: 1' }
    const digests = [
      planOf(text, { files }),
      planOf(text.replace('name: test', 'name: tests'), { files }),
      planOf(text.replace('id: a', 'id: b'), { files }),
      planOf(text, { files, inputs: { a: 2 } }),
      planOf(text, { files: { 'v.yaml': 'x: 2' } }),
      planOf(text, { files, vars: { x: 3 } }),
      planOf(`${text}  policy: {approval: never}\n`, { files }),
    ].map(plan => plan.planDigest)
    expect(new Set(digests).size).toBe(digests.length)
  })

  it('of a workflow is over its value and the digests of its files', () => {
    const text = `${workflow(smallest)}  varsFiles: [v.yaml]\n`
    const { document } = parseDocument({ text, file: 'flows/w.yaml' })
    if (document === null) throw new Error('no document')
    const files = { 'flows/v.yaml': 'x: 1', 'other.yaml': 'ignored' }
    expect(workflowDigest(document, files)).toBe(
      digest({ document: document.value, files: { 'flows/v.yaml': sha256('x: 1') } }),
    )
  })

  it('of a plan is over all of it but the places', () => {
    fc.assert(
      fc.property(documents, value => {
        const plan = planOf(JSON.stringify(value))
        const { planDigest: own, ...rest } = structuredClone(plan)
        for (const task of Object.values(rest.tasks)) delete (task as { source?: unknown }).source
        expect(digest(rest as unknown as Json)).toBe(own)
        expect(planDigest(structuredClone(plan))).toBe(own)
      }),
      { numRuns: 50 },
    )
  })

  it('and the whole plan are the same bytes every time', () => {
    fc.assert(
      fc.property(documents, value => {
        const text = stringify(value, { version: '1.2', aliasDuplicateObjects: false })
        expect(JSON.stringify(planOf(text))).toBe(JSON.stringify(planOf(text)))
      }),
      { numRuns: 50 },
    )
  })
})
