import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LedgerStore } from '../../../ledger/index.ts'
import { type Action, actions, Party, run, shapes } from '../support/actions.ts'
import { alice, beginPaused, bob, carol, control, vote } from '../support/commands.ts'
import type { Engine } from '../support/engine.ts'
import { Crash, faultySql } from '../support/faulty.ts'
import { checkInvariants } from '../support/invariants.ts'
import { TestClock, TestIds } from '../support/world.ts'
import { openStore, refusal } from './lifecycle.ts'

export function propertySuite(engine: Engine, numRuns: number): void {
  describe(`whatever is sent to a ledger on ${engine.name}`, () => {
    it(`keeps its invariants over ${numRuns} random sequences`, async () => {
      const reached = new Map<string, number>()
      await fc.assert(
        fc.asyncProperty(shapes, actions(false), (shape, sequence) =>
          engine.withDisk(async disk => {
            const party = new Party(() => disk.open(), shape)
            for (const action of sequence) party.perform(action)
            for (const type of party.types()) reached.set(type, (reached.get(type) ?? 0) + 1)
            await checkInvariants(party.store)
          }),
        ),
        { numRuns },
      )
      // A generator that reaches nothing would keep any invariant.
      if (numRuns >= 100) {
        for (const type of [
          'effect.started',
          'effect.approved',
          'approval.resolved',
          'lease.acquired',
          'run.finished',
        ]) {
          expect(reached.get(type) ?? 0, type).toBeGreaterThan(numRuns / 20)
        }
      }
    })

    it(`comes to the same after crashes at any statement, over ${numRuns} random sequences`, async () => {
      let crashes = 0
      await fc.assert(
        fc.asyncProperty(shapes, actions(true), async (shape, sequence) => {
          const undisturbed = await stateAfter(
            engine,
            shape,
            sequence.map(action => ({ ...action, fault: null })),
          )
          const disturbed = await stateAfter(engine, shape, sequence)
          crashes += disturbed.crashes
          expect(disturbed.state).toEqual(undisturbed.state)
        }),
        { numRuns },
      )
      expect(crashes).toBeGreaterThan(numRuns)
    })

    it('opens after a crash at any statement of its creation', () =>
      engine.withDisk(async disk => {
        const options = { clock: new TestClock(), ids: new TestIds(), ledger: '42' }
        for (let nth = 1; ; nth += 1) {
          try {
            new LedgerStore(faultySql(disk.open(), { when: 'statement', nth }), options)
          } catch (error) {
            expect(error).toBeInstanceOf(Crash)
            expect(disk.open().all("SELECT name FROM sqlite_master WHERE name = 'meta'")).toEqual([])
            continue
          }
          expect(nth).toBeGreaterThan(25)
          break
        }
        await checkInvariants(new LedgerStore(disk.open(), options))
      }))

    it('reaches one state however the votes of a pause are ordered, doubled and delayed', async () => {
      const words = fc.subarray(
        [
          { person: alice, comment: 1 },
          { person: bob, comment: 2 },
          { person: carol, comment: 3 },
          { person: alice, comment: 4 },
        ],
        { minLength: 1 },
      )
      const property = fc.asyncProperty(
        words.chain(chosen =>
          fc.tuple(
            fc.constant(chosen),
            fc.shuffledSubarray([...chosen, ...chosen, ...chosen], { minLength: chosen.length * 3 }),
          ),
        ),
        fc.integer({ min: 1, max: 3 }),
        ([chosen, deliveries], minimumApprovals) =>
          engine.withDisk(disk => {
            const { store, clock } = openStore(disk)
            const more = { settings: { minimumApprovals } }
            const paused = beginPaused(store, [{ id: 'a' }], ['a'], clock.in(3600), more)
            for (const { person, comment } of deliveries) {
              clock.advance(1)
              refusal(() =>
                control(store, paused.run, vote(paused.run, paused.pause, ['a'], 'approve', person, { comment })),
              )
            }
            const people = new Set(chosen.map(word => word.person.id)).size
            const isApproved = people >= minimumApprovals
            expect(store.pause(paused.pause)?.items[0]?.resolution?.outcome ?? 'open').toBe(
              isApproved ? 'approved' : 'open',
            )
            expect(store.outboxRows({ run: paused.run })).toHaveLength(isApproved ? 1 : 0)
            const resolved = store
              .events({ chain: `run/${paused.run}`, limit: 1000 })
              .items.filter(event => event.type === 'approval.resolved')
            expect(resolved).toHaveLength(isApproved ? 1 : 0)
          }),
      )
      await fc.assert(property, { numRuns: Math.max(10, numRuns / 2) })
    })
  })
}

async function stateAfter(
  engine: Engine,
  shape: { needed: number; failures: ('stop' | 'continue')[] },
  sequence: Action[],
) {
  let crashes = 0
  let state: unknown = null
  await engine.withDisk(async disk => {
    const party = new Party(() => disk.open(), shape)
    for (const action of sequence) {
      const before = party.crashes
      party.perform(action)
      if (party.crashes > before) await checkInvariants(party.store)
    }
    await checkInvariants(party.store)
    crashes = party.crashes
    // Hashes differ by their salts; everything else must not.
    const { head: _, ...rest } = party.store.snapshot(run) ?? { head: '' }
    state = { ...rest, types: party.types(), outbox: party.store.outboxRows().map(row => [row.id, row.state]) }
  })
  return { state, crashes }
}
