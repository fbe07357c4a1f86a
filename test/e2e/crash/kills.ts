import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bundle } from '../../../build.ts'
import { openStage } from '../stage.ts'
import { killAction } from './action.ts'
import { killCommandLine } from './command-line.ts'
import type { Gate } from './document.ts'
import { type Lifetime, type Random, seeded } from './random.ts'
import { add, emptyTally, killsOf, type Tally } from './tally.ts'

/** Kills so many processes of the built command line, and tells which phase each of them hit. */
export async function killCommandLines(count: number, seed: number): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'agentctl-cli-'))
  await bundle(folder)
  const life = { whole: 600, silent: 150 }
  const total = await killing(count, seed, (random, gate, kills) =>
    killCommandLine({ cli: join(folder, 'cli.js'), random, life, gate, kills }),
  )
  rmSync(folder, { recursive: true })
  return shown('command line', seed, total)
}

/** The same of the built Action under a real control plane. */
export async function killActions(count: number, seed: number): Promise<Tally> {
  const stage = await openStage()
  const life: Lifetime = { whole: 2_000, silent: 700 }
  try {
    const total = await killing(count, seed, (random, gate, kills) => killAction({ stage, random, life, gate, kills }))
    return shown('Action', seed, total)
  } finally {
    await stage.close()
  }
}

/** Runs of two to six deaths each, gated and not in turn. */
async function killing(
  count: number,
  seed: number,
  one: (random: Random, gate: Gate, kills: number) => Promise<Tally>,
): Promise<Tally> {
  const random = seeded(seed)
  const total = emptyTally()
  for (let run = 0; killsOf(total) < count; run += 1) {
    const kills = Math.min(2 + Math.floor(random() * 5), count - killsOf(total))
    try {
      add(total, await one(random, run % 2 === 0 ? 'never' : 'mutations', kills))
    } catch (error) {
      throw new Error(`run ${run} of seed ${seed}, after ${JSON.stringify(total)}`, { cause: error })
    }
  }
  return total
}

function shown(what: string, seed: number, total: Tally): Tally {
  console.log(`${what}, seed ${seed}: ${killsOf(total)} kills ${JSON.stringify(total)}`)
  return total
}

/** A third of the deaths in the middle of the work, or this shows nothing. */
export function expectMidRun(total: Tally, count: number): void {
  expect(killsOf(total)).toBeGreaterThanOrEqual(count)
  expect(total.during).toBeGreaterThanOrEqual(Math.ceil(killsOf(total) / 3))
}
