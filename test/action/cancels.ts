import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { LedgerStore, openNodeSql, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { flow, until } from './documents.ts'
import { newJob, postOf, runJob } from './job.ts'
import type { OtherUser } from './other-user.ts'

/** Many cancels of the built Action, each with a child of another kind: counted in CI, by the hundred in a soak. */
export interface Cancelled {
  kind: string
  /** From the signal to the end of main. */
  milliseconds: number
}

/** What runs when the cancel comes; every process of it carries the marker. */
const scripts: { readonly [kind: string]: string } = {
  plain: 'touch "$1"; sleep 600',
  'deaf to SIGTERM': 'trap "" TERM INT HUP; touch "$1"; while :; do sleep 600; done',
  'a grandchild in a session of its own': 'setsid sh -c "trap \'\' TERM; sleep 600" "$0" & touch "$1"; wait',
  'a double fork that holds no pipe':
    '(setsid sh -c "sleep 600; true" "$0" </dev/null >/dev/null 2>&1 &) ; touch "$1"; sleep 600',
  'writing without end': 'touch "$1"; yes 2>/dev/null | head -c 100000; sleep 600; true',
}
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Processes whose command line names the marker. */
export function marked(marker: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(marker)
      } catch {
        return false
      }
    })
}

/** The ledger of a job without a control plane, verified. */
export async function ledgerOf(temp: string) {
  const sql = openNodeSql(join(temp, 'agentctl/ledger.db'))
  try {
    const store = new LedgerStore(sql, { clock: systemClock, ids: systemIds })
    expect(await verifyAudit(store.exportLines())).toMatchObject({ ok: true })
    const [record] = store.runs().items
    const snapshot = record === undefined ? null : store.snapshot(record.run)
    return { record, tasks: snapshot?.tasks ?? [], effects: snapshot?.effects ?? [] }
  } finally {
    sql.close()
  }
}

/** Three processes at once, cancelled at a moment of their own. */
export async function cancelMany(
  count: number,
  action: { entry: string; post: string },
  user: OtherUser | null,
): Promise<Cancelled[]> {
  const kinds = Object.keys(scripts)
  const ends: Cancelled[] = []
  for (let index = 0; index < count; index++) {
    const kind = kinds[index % kinds.length] ?? ''
    const signal = signals[index % signals.length] ?? 'SIGINT'
    // As root held by a cgroup, as anybody else by what can be found.
    const as = index % 2 === 0 ? null : user
    ends.push({ kind: `${kind}, ${signal}`, milliseconds: await cancelOnce(index, kind, signal, action, as) })
  }
  return ends
}

async function cancelOnce(
  index: number,
  kind: string,
  signal: NodeJS.Signals,
  action: { entry: string; post: string },
  user: OtherUser | null,
): Promise<number> {
  const marker = `marker-${process.pid}-${index}-${Math.random().toString(36).slice(2)}`
  const job = newJob({ 'flow.yaml': threeTimes(scripts[kind] ?? '', marker) }, { workflow: 'flow.yaml' })
  mkdirSync(join(job.workspace, 'ready'))
  user?.give(job)
  let sent = 0
  const act = async (pid: number) => {
    await until(() => readdirSync(join(job.workspace, 'ready')).length === 3, `${kind} at work`)
    await new Promise(resolve => setTimeout(resolve, (index * 37) % 60))
    sent = performance.now()
    process.kill(pid, signal)
  }
  try {
    const end = await runJob(action.entry, job, { text: 'started', act: pid => void act(pid) }, user)
    const milliseconds = performance.now() - sent
    expect(marked(marker), kind).toEqual([])
    expect(end, end.log).toMatchObject({ exitCode: 130, outputs: { 'exit-code': '130' }, state: { concluded: 'true' } })
    const { record, effects } = await ledgerOf(job.temp)
    expect(record?.state).toBe(end.outputs['status'])
    expect(record?.state).toBe('uncertain')
    expect(effects.map(({ state }) => state)).toEqual(['uncertain', 'uncertain', 'uncertain'])
    for (const { effect } of effects) expect(end.log).toContain(`agentctl effects reconcile ${effect}`)
    const post = await runJob(action.post, postOf(job, end.state), undefined, user)
    expect(post).toMatchObject({ exitCode: 0, log: '' })
    return milliseconds
  } finally {
    for (const pid of marked(marker)) process.kill(pid, 'SIGKILL')
    job.remove()
  }
}

function threeTimes(script: string, marker: string): string {
  const names = ['a', 'b', 'c']
  const action = (name: string) =>
    `    ${name}: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, ${JSON.stringify(script)}, ${marker}, ready/${name}] }\n`
  return flow(`  policy: { processAllowlist: [sh], approval: never }
  runtime: { maxConcurrency: 3 }
  actions:
${names.map(action).join('')}  tasks:
${names.map(name => `    - { id: ${name}, uses: "action:${name}" }\n`).join('')}`)
}

/** Prints what was measured and holds it to the promise of 08: 5 s at p99. */
export function expectInTime(ends: readonly Cancelled[]): void {
  const sorted = ends.map(({ milliseconds }) => milliseconds).sort((left, right) => left - right)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0
  console.log(
    `${sorted.length} cancels: median ${Math.round(at(0.5))} ms, p99 ${Math.round(at(0.99))} ms, longest ${Math.round(at(1))} ms`,
  )
  expect(at(0.99), JSON.stringify(ends)).toBeLessThan(5_000)
}
