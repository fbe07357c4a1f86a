import { expect } from 'vitest'
import { type AuditLine, type LedgerStore, verifyAudit } from '../../../ledger/index.ts'
import { effectMoves, reconciledEffectMoves, reconciledTaskMoves, taskMoves } from '../../../ledger/transitions.ts'
import type { TaskState } from '../../../policy/states.ts'

/** Checks what 05 promises of every ledger, from nothing but its own audit trail, and that its tables say the same. */
export async function checkInvariants(store: LedgerStore): Promise<void> {
  const lines = [...store.exportLines()]
  expect(await verifyAudit(lines, store.head())).toMatchObject({ ok: true })
  const byRun = new Map<string, AuditLine[]>()
  for (const line of lines.map(text => JSON.parse(text) as AuditLine)) {
    if (line.chain !== 'ledger') byRun.set(line.chain, [...(byRun.get(line.chain) ?? []), line])
  }
  const pending: string[] = []
  for (const [chain, events] of byRun) {
    const replay = replayOf(events)
    const run = chain.slice('run/'.length)
    pending.push(...replay.open)
    const snapshot = store.snapshot(run)
    expect(snapshot?.head).toBe(events.at(-1)?.hash)
    expect(snapshot?.record.epoch).toBe(replay.epoch)
    expect(
      Object.fromEntries(
        (snapshot?.tasks ?? []).filter(task => replay.tasks.has(task.task)).map(task => [task.task, task.state]),
      ),
    ).toEqual(Object.fromEntries(replay.tasks))
    expect(Object.fromEntries((snapshot?.effects ?? []).map(effect => [effect.effect, effect.state]))).toEqual(
      Object.fromEntries(replay.effects),
    )
  }
  // The pending list is what the events leave open, and nothing else.
  const listed = store
    .openPauses()
    .flatMap(pause => pause.items.filter(item => item.resolution === null).map(item => item.id))
  expect(listed.sort()).toEqual(pending.sort())
}

interface Replay {
  epoch: number
  tasks: Map<string, TaskState>
  effects: Map<string, string>
  /** Approvals without a resolution. */
  open: Set<string>
}

function replayOf(events: AuditLine[]): Replay {
  const replay: Replay = { epoch: 0, tasks: new Map(), effects: new Map(), open: new Set() }
  const started = new Set<string>()
  const resolved = new Set<string>()
  /** Approvals in force: effect -> {approval, bindingDigest}. */
  const inForce = new Map<string, { approval: string; bindingDigest: string }>()
  const decided = new Map<string, { outcome: string; bindingDigest: string }>()
  for (const { type, subject, data = {} } of events) {
    const id = subject.slice(subject.indexOf('/') + 1)
    const text = (name: string) => String(data[name])
    switch (type) {
      case 'run.created':
        replay.epoch = Number(data['epoch'])
        break
      case 'lease.acquired':
        expect(Number(data['epoch'])).toBe(replay.epoch + 1)
        replay.epoch = Number(data['epoch'])
        break
      case 'task.moved': {
        const from = replay.tasks.get(id) ?? 'pending'
        const to = text('to') as TaskState
        expect(text('from')).toBe(from)
        const isRetry = from === to && (to === 'running' || to === 'pending')
        expect(isRetry || taskMoves[from].includes(to) || (reconciledTaskMoves[from] ?? []).includes(to)).toBe(true)
        replay.tasks.set(id, to)
        break
      }
      case 'effect.requested': {
        const decision = data['decision'] as { outcome: string }
        decided.set(id, { outcome: decision.outcome, bindingDigest: text('bindingDigest') })
        moveEffect(replay, id, text('to'))
        break
      }
      case 'effect.pure':
        expect(replay.effects.has(id)).toBe(false)
        replay.effects.set(id, text('to'))
        break
      case 'effect.approved':
        expect(resolved.has(text('approval'))).toBe(true)
        inForce.set(id, { approval: text('approval'), bindingDigest: text('bindingDigest') })
        moveEffect(replay, id, 'requested')
        break
      case 'approval.voided':
        inForce.delete(id)
        break
      case 'effect.started': {
        expect(started.has(id), 'no effect starts twice').toBe(false)
        started.add(id)
        const decision = decided.get(id)
        expect(decision, 'no effect starts without a decision').toBeDefined()
        expect(decision?.bindingDigest).toBe(text('bindingDigest'))
        expect(Number(data['epoch']), 'nobody writes below the epoch').toBe(replay.epoch)
        if (decision?.outcome === 'ask') {
          expect(inForce.get(id)).toEqual({ approval: text('approval'), bindingDigest: text('bindingDigest') })
        } else {
          expect(decision?.outcome).toBe('allow')
        }
        moveEffect(replay, id, 'started')
        break
      }
      case 'effect.finished':
      case 'effect.closed':
        moveEffect(replay, id, text('to'))
        break
      case 'effect.reconciled':
        replay.effects.set(id, text('to'))
        break
      case 'run.paused':
        for (const item of data['items'] as { approval: string }[]) replay.open.add(item.approval)
        break
      case 'approval.resolved':
        expect(resolved.has(id), 'one resolution an item').toBe(false)
        resolved.add(id)
        replay.open.delete(id)
        break
    }
  }
  return replay
}

function moveEffect(replay: Replay, effect: string, to: string): void {
  const from = replay.effects.get(effect)
  if (from !== undefined && from !== to) {
    const allowed: readonly string[] = effectMoves[from as keyof typeof effectMoves]
    const reconciled: readonly string[] = reconciledEffectMoves[from as keyof typeof effectMoves] ?? []
    expect([...allowed, ...reconciled]).toContain(to)
  }
  replay.effects.set(effect, to)
}
