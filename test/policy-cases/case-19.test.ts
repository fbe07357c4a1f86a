import { afterEach, describe, expect, test } from 'vitest'
import { LedgerError } from '../../ledger/port.ts'
import { decide, policyDefaults, policySchema, withDefaults } from '../../policy/decision/index.ts'
import { processEffect, processFacts, writeEffect, writeFacts } from '../decision/questions.ts'
import { getFile, planOf, start, vote } from '../runner/support.ts'
import { scenesOf, writes } from './scenes.ts'

const { scene, dispose } = scenesOf()
afterEach(dispose)

describe('case 19: an error while it is asked whether something may be, is a no', () => {
  const gated = planOf({
    ...writes('out/x'),
    policy: { writableRoots: ['out'], approval: 'mutations' },
  })

  test.each(['locked', 'full', 'unreachable', 'corrupt'] as const)(
    'the ledger is %s when the effect is to be recorded: it never begins',
    async code => {
      const here = scene()
      const broken = {
        ...here.ledger,
        apply: async (batch: Parameters<typeof here.ledger.apply>[0]) => {
          if (batch.commands.some(({ type }) => type === 'effect.start')) throw new LedgerError(code, 'not now')
          return here.ledger.apply(batch)
        },
      }
      const timings = { renewEvery: 20_000, startWithin: 40_000, deliverFor: 50, deliverForCancelled: 50 }
      const ended = await start(here, planOf(writes('out/x')), { ports: { ledger: broken, timings } })
      expect(ended.exitCode).toBe(5)
      expect(ended.messages.join()).toContain(code)
      expect(getFile(here, 'out/x')).toBeNull()
    },
  )

  test('the lease cannot be asked about: nobody takes the run over', async () => {
    const here = scene()
    const { store } = here.ledger
    const paused = await start(here, gated)
    vote(here, paused, 'approve')
    await here.ledger.acquire(paused.run)
    const unknown = () =>
      store.acquire(paused.run, { kind: 'local', bootId: 'b', pid: 1, startTime: '1' }, 'local:1', {
        isAlive: () => {
          throw new Error('no /proc here')
        },
      })
    expect(unknown).toThrow('no /proc here')
    expect(store.lease(paused.run)?.epoch).toBe(2)
  })

  test('what nobody could find out about an effect denies it, whatever the policy allows', () => {
    const policy = withDefaults(
      policySchema.parse({
        writableRoots: ['.'],
        processAllowlist: ['git'],
        environmentAllowlist: ['a', 'b'],
        approval: 'never',
      }),
    )
    const origins = Object.fromEntries(Object.keys(policy).map(field => [field, 'document'])) as never
    const unknown = { known: false, requested: 'x', cause: 'not_permitted', detail: 'could not be looked at' } as const
    const asked = [
      [writeEffect, { kind: 'write', path: unknown }],
      [
        { ...writeEffect, operation: 'builtin.read' },
        { kind: 'read', path: unknown },
      ],
      [processEffect, { kind: 'process', process: unknown }],
      [writeEffect, { kind: 'none' }],
      [processEffect, writeFacts],
      [writeEffect, processFacts()],
    ] as const
    for (const [effect, facts] of asked) {
      const decision = decide({ effect, facts: facts as never, policy, origins, canPause: true })
      expect(decision.outcome, JSON.stringify([effect.operation, facts])).toBe('deny')
    }
  })

  test('what nobody wrote is the harmless value of each field', () => {
    expect(withDefaults(policySchema.parse({}))).toEqual(policyDefaults)
    const { network, toolsAllow, providers, ...rest } = policyDefaults
    expect(rest).toEqual({
      workspaceRoot: '.',
      writableRoots: [],
      environmentAllowlist: [],
      processAllowlist: [],
      secretFileRoots: [],
      secretProcessAllowlist: [],
      networkAllowlist: [],
      toolsDeny: [],
      approval: 'mutations',
      nonInteractive: 'pause',
    })
    expect([network.allowPrivate, network.allowProxy, network.customCa]).toEqual([false, false, null])
    // Every effect of a kind that a document declares may be tried; the empty lists above then refuse it.
    expect([toolsAllow, providers]).toEqual(['any', 'any'])
  })
})
