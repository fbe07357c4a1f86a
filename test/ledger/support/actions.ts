import fc from 'fast-check'
import type { ControlCommand, LeaseCommand } from '../../../ledger/commands.ts'
import type { LeaseHolder, Sql } from '../../../ledger/index.ts'
import { LedgerStore } from '../../../ledger/index.ts'
import type { EffectRecord, TaskRecord } from '../../../ledger/port.ts'
import { LedgerError } from '../../../ledger/port.ts'
import { endOf, isTerminalTask } from '../../../ledger/transitions.ts'
import {
  alice,
  bindingOf,
  bob,
  carol,
  create,
  effectOf,
  end,
  finish,
  move,
  pure,
  reconcile,
  request,
  start,
  vote,
} from './commands.ts'
import { Crash, type Fault, faultySql } from './faulty.ts'
import { TestClock, TestIds } from './world.ts'

export const run = 'run-under-test'
const people = [alice, bob, carol]
const tasks = ['a', 'b', 'c', 'd']

/** Something that one of several parties tries. `a` and `b` choose among what stands to choice. */
export interface Action {
  kind: (typeof kinds)[number]
  task: number
  /** Sent by whoever held the lease before. */
  isStale: boolean
  a: number
  b: number
  fault: Fault | null
}
const kinds = [
  'step',
  'step',
  'step',
  'step',
  'step',
  'step',
  'step',
  'acquire',
  'acquire',
  'acquire',
  'move',
  'request',
  'start',
  'finish',
  'pure',
  'pause',
  'pause',
  'end',
  'release',
  'vote',
  'vote',
  'vote',
  'expire',
  'cancel',
  'reconcile',
  'wait',
  'repeat',
] as const

export const actions = (withFaults: boolean) =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...kinds),
      task: fc.nat(3),
      isStale: fc.nat(9).map(value => value === 0),
      a: fc.nat(11),
      b: fc.nat(11),
      fault: withFaults
        ? fc.option(
            fc
              .record({ when: fc.constantFrom('statement', 'commit'), nth: fc.integer({ min: 1, max: 25 }) })
              .map(({ when, nth }) => ({ when, nth: when === 'commit' ? 1 : nth }) as Fault),
            { freq: 3 },
          )
        : fc.constant(null),
    }),
    { minLength: 10, maxLength: 60 },
  )

export const shapes = fc.record({
  needed: fc.integer({ min: 1, max: 2 }),
  failures: fc.array(fc.constantFrom('stop' as const, 'continue' as const), { minLength: 4, maxLength: 4 }),
})
export type Shape = typeof shapes extends fc.Arbitrary<infer Value> ? Value : never

type Sent =
  | { to: 'lease'; epoch: number; commands: LeaseCommand[] }
  | { to: 'control'; commands: ControlCommand[] }
  | { to: 'acquire'; holder: LeaseHolder }

/** Two job attempts and some people at one ledger, each with what it believes. */
export class Party {
  readonly clock = new TestClock()
  store: LedgerStore
  readonly #open: () => Sql
  readonly #sent: Sent[] = []
  #epoch = 1
  #attempts = 1
  #pauses = 0
  #commands = 0
  crashes = 0

  constructor(open: () => Sql, shape: Shape) {
    this.#open = open
    this.store = this.#connect(open())
    const needs = { a: [], b: [], c: ['a'], d: ['b', 'c'] } as { [task: string]: string[] }
    const shapesOfTasks = tasks.map((id, index) => ({
      id,
      needs: needs[id] ?? [],
      failure: shape.failures[index] ?? 'stop',
    }))
    const command = create(shapesOfTasks)
    const settings = { ...command.settings, minimumApprovals: shape.needed }
    this.store.apply({ run, epoch: 1, commands: [{ ...command, settings }] }, 'job:1/1', jobOf(1))
  }

  #connect(sql: Sql): LedgerStore {
    return new LedgerStore(sql, { clock: this.clock, ids: new TestIds(), ledger: '42' })
  }

  /** Tries an action; with a fault, dies on the way, starts anew and tries the very same once more. */
  perform(action: Action): void {
    if (action.kind === 'wait') {
      this.clock.advance(([1, 30, 70, 90_000][action.a % 4] ?? 1) * 1)
      return
    }
    const sent = this.#build(action)
    if (sent === null) return
    // A lease whose answer was lost is taken anew at the next epoch: right, but not the same state.
    const isLostLease = sent.to === 'acquire' && action.fault?.when === 'commit'
    if (action.fault !== null && !isLostLease) {
      const before = this.#heads()
      const isAcknowledged = this.#try(sent, faultySql(this.#open(), action.fault))
      this.store = this.#connect(this.#open())
      // Nothing that was there is gone, whether the action was acknowledged, refused or cut off.
      if (!this.#contains(before)) throw new Error('an acknowledged event is gone')
      if (isAcknowledged) {
        this.#sent.push(sent)
        return
      }
      this.crashes += 1
    }
    this.#try(sent)
    this.#sent.push(sent)
  }

  /** Types of the run's events in their order. */
  types(): string[] {
    return this.store.events({ chain: `run/${run}`, limit: 1000 }).items.map(event => event.type)
  }

  /** False where it was cut off. */
  #try(sent: Sent, dying?: Sql): boolean {
    try {
      if (dying !== undefined) this.store = this.#connect(dying)
      if (sent.to === 'lease') this.store.apply({ run, epoch: sent.epoch, commands: sent.commands }, 'job:1/1')
      else if (sent.to === 'control') this.store.control({ run, commands: sent.commands }, 'github:11')
      else this.#epoch = this.store.acquire(run, sent.holder, 'job:1/2').epoch
      return true
    } catch (error) {
      if (error instanceof Crash) return false
      if (error instanceof LedgerError && refusals.has(error.code)) return true
      throw error
    }
  }

  #heads(): { chain: string; seq: number; hash: string }[] {
    return ['ledger', `run/${run}`].map(chain => {
      const last = this.store.events({ chain, limit: 1000 }).items.at(-1)
      return { chain, seq: last?.seq ?? 0, hash: last?.hash ?? '' }
    })
  }

  #contains(heads: { chain: string; seq: number; hash: string }[]): boolean {
    return heads.every(
      ({ chain, seq, hash }) => this.store.events({ chain, after: seq - 1, limit: 1 }).items[0]?.hash === hash,
    )
  }

  #build(action: Action): Sent | null {
    const { kind, a } = action
    const epoch = action.isStale ? Math.max(1, this.#epoch - 1) : this.#epoch
    if (kind === 'repeat') {
      const earlier = this.#sent[a % Math.max(1, this.#sent.length)]
      return earlier === undefined || earlier.to === 'acquire' ? null : earlier
    }
    if (kind === 'acquire') {
      if (this.store.lease(run) !== null && action.b > 2) return null
      this.#attempts += 1
      return { to: 'acquire', holder: jobOf(this.#attempts) }
    }
    const control = this.#control(action)
    if (control !== null) return { to: 'control', commands: [this.#named(control)] }
    const commands = this.#lease(action)
    return commands.length === 0
      ? null
      : { to: 'lease', epoch, commands: commands.map(command => this.#named(command)) }
  }

  /** Ids that the same actions get again on another ledger. */
  #named<Command extends LeaseCommand | ControlCommand>(command: Command): Command {
    this.#commands += 1
    return { ...command, id: `c${this.#commands}` }
  }

  #control({ kind, task, a, b }: Action): ControlCommand | null {
    const record = this.store.record(run)
    const pause = record?.pause ?? `pause-${this.#pauses}`
    const person = people[a % 3] ?? alice
    const name = tasks[task] ?? 'a'
    switch (kind) {
      case 'vote': {
        const items = this.store.pause(pause)?.items.map(item => item.task) ?? [name]
        const chosen = b % 3 === 0 ? items : [items[b % Math.max(1, items.length)] ?? name]
        const comment = b % 4 === 0 ? 100 + (a % 5) : null
        const word = b === 7 ? 'reject' : 'approve'
        return vote(run, pause, chosen, word, person, { comment, needed: (a % 2) + 1 })
      }
      case 'expire':
        return { id: '', type: 'pause.expire', pause }
      case 'cancel':
        return b < 2 ? { id: '', type: 'run.cancel', person, reason: 'no', via: 'api' } : null
      case 'reconcile':
        return reconcile(run, name, (['applied', 'not-applied', 'compensated'] as const)[a % 3] ?? 'applied', {
          effect: this.#effects(name).at(-1)?.effect ?? effectOf(run, name),
        })
      default:
        return null
    }
  }

  #lease(action: Action): LeaseCommand[] {
    const { kind, task, a, b } = action
    const name = tasks[task] ?? 'a'
    const attempt = this.#task(name)?.attempt ?? 1
    switch (kind) {
      case 'step':
        return this.#step(action)
      case 'move':
        return [move(name, moves[a % moves.length] ?? 'running', { attempt: attempt + (b % 4 === 0 ? 1 : 0) })]
      case 'request':
        return [request(run, name, outcomes[a % 3] ?? 'ask', { binding: bindingOf(versions[b % 2]), attempt })]
      case 'start':
        return [start(run, name, versions[b % 2], attempt)]
      case 'finish':
        return [{ ...finish(run, name, results[a % 4] ?? 'succeeded'), effect: effectOf(run, name, attempt) }]
      case 'pure':
        return [pure(run, name, { attempt })]
      case 'pause':
        return this.#pause(action)
      case 'end':
        return b < 4 ? [end(ends[a % ends.length] ?? 'failed')] : []
      case 'release':
        return b < 2 ? [{ id: '', type: 'lease.release' }] : []
      default:
        return []
    }
  }

  /** What a runner would do next with a task. */
  #step(action: Action): LeaseCommand[] {
    const name = tasks[action.task] ?? 'a'
    const task = this.#task(name)
    if (task === undefined) return []
    if (isTerminalTask(task.state)) return this.#endIfDone()
    const { attempt } = task
    const effect = this.#effects(name).find(candidate => candidate.attempt === attempt)
    const binding = bindingOf(versions[0])
    if (effect === undefined) {
      const outcome = outcomes[action.a === 0 ? 1 : action.a < 4 ? 0 : 2] ?? 'ask'
      const state = outcome === 'ask' ? 'waiting' : 'running'
      return [move(name, state, { attempt }), request(run, name, outcome, { binding, attempt })]
    }
    switch (effect.state) {
      case 'waiting_for_approval':
        return this.#pause(action)
      case 'requested':
        return [
          move(name, 'running', { attempt }),
          { ...start(run, name, 'one', attempt), bindingDigest: effect.bindingDigest },
        ]
      case 'started': {
        const to = action.b === 0 ? 'uncertain' : action.b === 1 ? 'failed' : 'succeeded'
        return [{ ...finish(run, name, to), effect: effect.effect }, move(name, to, { attempt })]
      }
      case 'failed':
        return [move(name, 'running', { attempt: attempt + 1 })]
      default:
        return [move(name, effect.state === 'succeeded' ? 'succeeded' : effect.state, { attempt })]
    }
  }

  #endIfDone(): LeaseCommand[] {
    const states = this.store.snapshot(run)?.tasks.map(task => task.state) ?? []
    return states.every(isTerminalTask) ? [end(endOf(states))] : []
  }

  #pause({ a }: Action): LeaseCommand[] {
    const waiting = this.store.effects(run).filter(effect => effect.state === 'waiting_for_approval')
    if (waiting.length === 0) return []
    this.#pauses += 1
    const items = waiting.map(({ effect, bindingDigest }) => ({
      effect,
      bindingDigest,
      reason: 'mutations',
      expected: { inline: { kind: 'other', summary: 'x', detail: null } },
    }))
    const expiresAt = this.clock.in(a % 2 === 0 ? 100 : 100_000)
    return [{ id: '', type: 'run.pause', pause: `pause-${this.#pauses}`, items, later: [], expiresAt }]
  }

  #task(name: string): TaskRecord | undefined {
    return this.store.snapshot(run)?.tasks.find(task => task.task === name)
  }

  #effects(name: string): EffectRecord[] {
    return this.store.effects(run).filter(effect => effect.task === name)
  }
}

const refusals = new Set<string>(['stale_epoch', 'lease_held', 'not_found', 'conflict', 'invalid'])
const moves = [
  'running',
  'waiting',
  'succeeded',
  'failed',
  'pending',
  'skipped',
  'denied',
  'uncertain',
  'cancelled',
] as const
const outcomes = ['allow', 'deny', 'ask'] as const
const versions = ['one', 'two'] as const
const results = ['succeeded', 'failed', 'uncertain', 'cancelled'] as const
const ends = ['failed', 'cancelled', 'uncertain', 'succeeded', 'denied'] as const

function jobOf(attempt: number): LeaseHolder {
  return { kind: 'job', workflowRunId: 1, attempt }
}
