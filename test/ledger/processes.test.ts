import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbedded, systemClock, systemIds, verifyAudit } from '../../ledger/index.ts'

let directory = ''
let file = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ledger-processes-'))
  file = join(directory, 'runtime.db')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const writer = join(import.meta.dirname, 'support', 'writer.ts')

interface Writer {
  child: ChildProcess
  /** Acknowledged commits: run and head. */
  acknowledged: { run: string; head: string }[]
  ended: Promise<{ code: number | null; errors: string }>
}

function startWriter(runs: number, mode = ''): Writer {
  const child = spawn(process.execPath, [writer, file, String(runs), mode], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [output, errors] = ['', '']
  const acknowledged: Writer['acknowledged'] = []
  child.stdout.on('data', chunk => {
    output += String(chunk)
    const lines = output.split('\n')
    output = lines.pop() ?? ''
    for (const line of lines) {
      const [run = '', , head = ''] = line.split(' ')
      acknowledged.push({ run, head })
    }
  })
  child.stderr.on('data', chunk => {
    errors += String(chunk)
  })
  const ended = once(child, 'close').then(([code]: (number | null)[]) => ({ code: code ?? null, errors }))
  return { child, acknowledged, ended }
}

/** Everything acknowledged is in the ledger, and the whole of it verifies. */
async function checkAll(acknowledged: Writer['acknowledged']): Promise<number> {
  const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
  try {
    const { store } = ledger
    const verdict = await verifyAudit(store.exportLines(), store.head())
    expect(verdict).toMatchObject({ ok: true })
    const hashes = new Map<string, Set<string>>()
    for (const line of store.exportLines()) {
      const { chain, hash } = JSON.parse(line) as { chain: string; hash: string }
      hashes.set(chain, (hashes.get(chain) ?? new Set()).add(hash))
    }
    const lost = acknowledged.filter(({ run, head }) => hashes.get(`run/${run}`)?.has(head) !== true)
    expect(lost).toEqual([])
    return hashes.size - 1
  } finally {
    await ledger.close()
  }
}

describe('a ledger file between processes', () => {
  it('loses nothing to four writers at once', async () => {
    const writers = [25, 25, 25, 25].map(runs => startWriter(runs))
    const ends = await Promise.all(writers.map(each => each.ended))
    expect(ends.map(end => [end.code, end.errors])).toEqual(Array.from({ length: 4 }, () => [0, '']))
    const acknowledged = writers.flatMap(each => each.acknowledged)
    expect(acknowledged).toHaveLength(4 * 25 * 3)
    expect(await checkAll(acknowledged)).toBe(100)
  })

  it('keeps everything acknowledged over kill -9 in the middle of commits', async () => {
    const acknowledged: Writer['acknowledged'] = []
    const kills = 12
    for (let kill = 0; kill < kills; kill += 1) {
      const each = startWriter(10_000)
      // Somewhere behind a different commit each time, at whatever the writer is then doing.
      await new Promise<void>((resolve, reject) => {
        each.child.stdout?.on('data', () => {
          if (each.acknowledged.length > kill * 2) resolve()
        })
        each.ended.then(() => reject(new Error('the writer ended by itself')), reject)
      })
      each.child.kill('SIGKILL')
      await each.ended.catch(() => undefined)
      acknowledged.push(...each.acknowledged)
      await checkAll(acknowledged)
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(kills * kills)
  })

  it('takes over from a killed process at once, and not from a living one', async () => {
    const each = startWriter(1, 'hold')
    while (each.acknowledged.length < 2) await once(each.child.stdout ?? each.child, 'data')
    const run = each.acknowledged[0]?.run ?? ''
    const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
    try {
      await expect(ledger.acquire(run)).rejects.toMatchObject({
        code: 'lease_held',
        message: expect.stringContaining(`process ${each.child.pid},`),
      })
      each.child.kill('SIGKILL')
      await each.ended
      expect(await ledger.acquire(run)).toBe(2)
      expect((await ledger.snapshot(run))?.effects[0]?.state).toBe('started')
    } finally {
      each.child.kill('SIGKILL')
      await ledger.close()
    }
  })
})
