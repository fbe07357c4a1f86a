import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type EmbeddedLedger, openEmbedded, systemClock, systemIds } from '../../ledger/index.ts'
import { runSnapshotSchema } from '../../ledger/remote-snapshot.ts'
import { defaultApprovalSettings } from '../../policy/approval/record.ts'
import { compile, parseDocument } from '../../policy/document/index.ts'
import { startRun } from '../../runner/index.ts'

let folder: string
let ledger: EmbeddedLedger
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentctl-snapshot-'))
  mkdirSync(join(folder, 'work'))
  ledger = openEmbedded({ file: join(folder, 'ledger.db'), clock: systemClock, ids: systemIds })
})
afterEach(async () => {
  await ledger.close()
  rmSync(folder, { recursive: true })
})

const text = `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: everything }
spec:
  policy: { writableRoots: [out], processAllowlist: [sh], approval: mutations }
  memory: { working: { seen: 0 } }
  actions:
    write: { kind: builtin.write }
    read: { kind: builtin.read }
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, "true"] }
    remember: { kind: builtin.memory.write }
    assign: { kind: builtin.assign }
  tasks:
    - { id: assigned, uses: "action:assign", with: { a: 1 } }
    - { id: remembered, uses: "action:remember", memoryWrites: [seen], with: { key: seen, value: 1 } }
    - { id: skipped, uses: "action:assign", when: "memory.seen == 7", with: { a: 1 } }
    - { id: missing, uses: "action:read", failure: continue, with: { path: nowhere.txt } }
    - { id: written, uses: "action:write", with: { path: out/a.txt, content: a } }
    - { id: process, uses: "action:run" }
`

async function pausedRun(): Promise<string> {
  const { document } = parseDocument({ text, file: 'everything.yaml' })
  if (document === null) throw new Error('the document does not parse')
  const { plan, diagnostics } = compile({ document, inputs: {}, files: {}, floor: null })
  if (plan === null) throw new Error(JSON.stringify(diagnostics))
  const run = systemIds.uuid()
  const ports = {
    ledger,
    clock: systemClock,
    ids: systemIds,
    workspace: join(folder, 'work'),
    environment: {},
    protectedPaths: [],
    temporaryDirectories: [],
    searchPath: [],
    signal: new AbortController().signal,
    report: () => {},
  }
  const settings = defaultApprovalSettings
  const commit = { sha: null, head: null }
  const outcome = await startRun(ports, {
    run,
    epoch: 1,
    plan,
    document: 'everything.yaml',
    commit,
    settings,
    resumeWith: 'rerun',
    parent: null,
  })
  expect(outcome).toMatchObject({ state: 'paused' })
  return run
}

test('a snapshot of the ledger comes through HTTP and its check with nothing lost or changed', async () => {
  const run = await pausedRun()
  const decide = (vote: 'approve' | 'reject', item: number) => {
    const pause = ledger.store.snapshot(run)?.pauses[0]
    const id = pause?.items[item]?.id
    if (pause === undefined || id === undefined) throw new Error('no such item')
    ledger.store.control(
      {
        run,
        commands: [
          {
            id: systemIds.uuid(),
            type: 'approval.vote',
            pause: pause.pause,
            items: [id],
            vote,
            person: { id: null, login: 'local' },
            reason: 'because',
            via: 'cli',
            comment: null,
            bodyDigest: null,
            needed: 1,
          },
        ],
      },
      'local:0',
    )
  }
  for (const step of [() => {}, () => decide('approve', 0), () => decide('reject', 1)]) {
    step()
    const snapshot = await ledger.snapshot(run)
    const travelled: unknown = JSON.parse(JSON.stringify(snapshot))
    expect(snapshot?.effects.length).toBeGreaterThan(3)
    expect(runSnapshotSchema.parse(travelled)).toEqual(travelled)
    expect(travelled).toEqual(snapshot)
  }
})

test('a member that a newer control plane adds is dropped, one that is missing is refused', async () => {
  const run = await pausedRun()
  const snapshot = JSON.parse(JSON.stringify(await ledger.snapshot(run))) as Record<string, unknown>
  expect(runSnapshotSchema.safeParse({ ...snapshot, added: 1 }).data).toEqual(snapshot)
  const { memory: _, ...without } = snapshot
  expect(runSnapshotSchema.safeParse(without).success).toBe(false)
})
