import { getInput } from '@actions/core'
import { systemClock, systemIds } from '../ledger/system.ts'
import { stopOnSignals } from '../runner/stop-signals.ts'
import { afterMain } from './after-main.ts'
import { Annotations } from './annotations.ts'
import { Guard } from './guard.ts'
import { JobLog } from './job-log.ts'
import { reap } from './reap.ts'
import type { LeftState } from './state.ts'

/** For all that the post step waits for; what is left of its 10 s is for saying what came of it. */
const workMs = 8_500

/** The post step of a main that did not conclude; `readable` says why others of its user can read it, null where none can. */
export async function postWork(left: LeftState, readable: string | null): Promise<void> {
  const log = new JobLog(text => process.stdout.write(text))
  const guard = new Guard(log)
  const annotations = new Annotations(log, text => guard.text(text))
  const cancelled = stopOnSignals(() => process.exit(0))
  const signal = AbortSignal.any([cancelled, AbortSignal.timeout(workMs)])
  const base = { environment: process.env, clock: systemClock, ids: systemIds, log, guard, annotations, signal, left }
  if (readable !== null) log.line(`absent guarantee non_dumpable: ${readable}`)
  await reap(process.env, log, annotations)
  await afterMain(base, getInput)
}
