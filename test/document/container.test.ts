import { describe, expect, it } from 'vitest'
import { build, workflow } from './support.ts'

const id = `sha256:${'0'.repeat(64)}`

/** What `check` says of one action in a container. */
function told(container: object | null, isolation = 'container') {
  const action = { kind: 'builtin.shell.exec', command: 'x', isolation, ...(container !== null && { container }) }
  const { plan, diagnostics } = build(
    workflow(`actions: {x: ${JSON.stringify(action)}}\ntasks: [{id: a, uses: "action:x"}]`),
  )
  return { plan, faults: diagnostics.filter(({ severity }) => severity === 'error') }
}

describe('an image', () => {
  it.each([id, `worker@${id}`, `registry.example/team/worker@${id}`, `127.0.0.1:5000/a_b/c--d@${id}`, `r/x:1.2@${id}`])(
    'is pinned as %s',
    image => {
      expect(told({ image }).faults).toEqual([])
    },
  )

  it.each([
    'worker',
    'worker:latest',
    `worker@sha256:${'0'.repeat(63)}`,
    `worker@sha256:${'0'.repeat(65)}`,
    `worker@sha256:${'G'.repeat(64)}`,
    `worker@sha512:${'0'.repeat(64)}`,
    `../x@${id}`,
    `a/../b@${id}`,
    `a//b@${id}`,
    `a?b@${id}`,
    `-x@${id}`,
    ` ${id}`,
    `${id}\n`,
    `@${id}`,
    `Worker@${id}`,
  ])('is not pinned as %j', image => {
    const { plan, faults } = told({ image })
    expect(plan).toBeNull()
    expect(faults).toMatchObject([
      { path: 'spec.actions.x.container.image', message: expect.stringContaining('pinned') },
    ])
  })
})

describe('a limit', () => {
  it.each([
    ['memoryLimitBytes', 16_777_216, 17_179_869_184],
    ['cpuLimitMillis', 1, 64_000],
    ['pidsLimit', 1, 4_096],
  ])('%s is from %i to %i, and a refusal tells both ends', (field, least, most) => {
    for (const fine of [least, most]) expect(told({ image: id, [field]: fine }).faults).toEqual([])
    for (const wrong of [least - 1, most + 1])
      expect(told({ image: id, [field]: wrong }).faults).toMatchObject([
        { message: `spec.actions.x.container.${field} must be from ${least} to ${most}, not ${wrong}` },
      ])
  })
})

describe('the plan', () => {
  it('lists mode, image, engine selection and every limit with its default', () => {
    expect(told({ image: id }).plan?.processes).toMatchObject([
      {
        action: 'x',
        tasks: ['a'],
        isolation: 'container',
        container: { image: id, runtime: 'auto' },
        limits: { memoryLimitBytes: 268_435_456, cpuLimitMillis: 1000, pidsLimit: 64 },
      },
    ])
  })

  it('is not made of a container without an image, nor of an image that nothing would use', () => {
    expect(told(null).faults).toMatchObject([{ message: 'isolation `container` needs `container`' }])
    expect(told({ image: id }, 'process').faults).toMatchObject([{ message: expect.stringContaining('is set for') }])
  })
})
