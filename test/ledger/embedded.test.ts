import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isAlive, openEmbedded, processHolder, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'
import { create, end, move, pure } from './support/commands.ts'

let directory = ''
let file = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ledger-embedded-'))
  file = join(directory, 'deep', 'below', 'runtime.db')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('the embedded ledger', () => {
  it('makes its directory, keeps its identity, and is the port of the runner', async () => {
    const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
    expect(statSync(join(directory, 'deep')).mode & 0o777).toBe(0o700)
    const blob = await ledger.putBlob(new TextEncoder().encode('{"large":true}'))
    const first = await ledger.apply({ run: 'r', epoch: 1, commands: [create([{ id: 'a' }], { plan: { blob } })] })
    expect(first).toMatchObject({ epoch: 1, cancelRequested: false })
    expect(await ledger.acquire('r')).toBe(1)
    const last = await ledger.apply({
      run: 'r',
      epoch: 1,
      commands: [pure('r', 'a'), move('a', 'succeeded'), end('succeeded')],
    })
    expect(await ledger.snapshot('r')).toMatchObject({
      plan: { large: true },
      head: last.head,
      record: { state: 'succeeded' },
    })
    expect(await ledger.snapshot('nowhere')).toBeNull()
    expect(await ledger.getBlob('f'.repeat(64))).toBeNull()
    await expect(ledger.apply({ run: 'nowhere', epoch: 1, commands: [move('a', 'running')] })).rejects.toMatchObject({
      code: 'not_found',
    })
    const { ledger: identity } = ledger.store
    await ledger.close()
    await ledger.close()
    const again = openEmbedded({ file, clock: systemClock, ids: systemIds, actor: 'job:1/1' })
    expect(again.store.ledger).toBe(identity)
    const [created] = again.store.events({ chain: 'run/r' }).items
    expect(created?.actor).toBe(`local:${process.getuid?.()}`)
    await again.close()
  })

  it('knows this process from others of its number', () => {
    const self = processHolder()
    expect(isAlive(self)).toBe(true)
    expect(isAlive({ ...self, bootId: 'another boot' })).toBe(null)
    expect(isAlive({ ...self, startTime: '1' })).toBe(false)
    expect(isAlive({ ...self, pidNamespace: 'pid:[1]' })).toBe(null)
    const gone = spawnSync('true').pid
    expect(isAlive({ ...self, pid: gone })).toBe(false)
  })

  it('answers alike for an empty ledger', async () => {
    const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
    expect(ledger.store.runs()).toEqual({ items: [], next: null })
    expect(ledger.store.openPauses()).toEqual([])
    expect(ledger.store.nextDue()).toBeNull()
    expect(await verifyAudit(ledger.store.exportLines())).toMatchObject({ ok: true, events: 1 })
    await ledger.close()
  })
})
