import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemIds, verifyAudit } from '../../ledger/index.ts'
import { countsOf, expectExactlyOnce, reconcile } from './crash.ts'
import { createScene, freshWorkspace } from './support.ts'

/** Runs the ten tasks in processes that are killed after random times until it ends; gives how many were killed. */
export async function killAtRandom(longestMilliseconds: number): Promise<{ kills: number; uncertain: number }> {
  const scene = createScene()
  const log = path.join(scene.directory, 'ran.log')
  const run = systemIds.uuid()
  const { store } = scene.ledger
  let kills = 0
  let uncertain = 0
  try {
    for (let turn = 0; turn < 60; turn += 1) {
      const state = store.record(run)?.state ?? 'running'
      if (state !== 'running' && state !== 'uncertain' && state !== 'paused') break
      for (const effect of store.effects(run))
        if (state === 'uncertain' && effect.state === 'uncertain') {
          uncertain += 1
          reconcile(scene, effect, countsOf(log).has(effect.task))
        }
      if (turn > 0) freshWorkspace(scene)
      // The later, the longer: it must end some time.
      if (
        await runKilled(scene.directory, scene.workspace, log, run, Math.random() * longestMilliseconds * 1.5 ** turn)
      )
        kills += 1
    }
    const audit = await verifyAudit(store.exportLines())
    const state = store.record(run)?.state ?? 'absent'
    expectExactlyOnce({ scene, died: kills > 0, state, ran: countsOf(log), uncertain, isVerified: audit.ok })
    return { kills, uncertain }
  } finally {
    scene.dispose()
  }
}

async function runKilled(
  directory: string,
  workspace: string,
  log: string,
  run: string,
  after: number,
): Promise<boolean> {
  const script = path.join(import.meta.dirname, 'kill-child.ts')
  const child = spawn(process.execPath, [script, path.join(directory, 'ledger.db'), workspace, log, run], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), exit])
  await Promise.race([sleep(after), exit])
  child.kill('SIGKILL')
  const [, signal] = await exit
  // A process that the killed one had started writes its line within this time or not at all.
  await sleep(50)
  return signal === 'SIGKILL'
}
