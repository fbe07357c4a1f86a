import { armProcesses } from '../../runner/process/arm.ts'
import type { ArmOptions } from '../../runner/process/containment/armed-host.ts'
import { type Launch, launch, type Room, textOf } from './launch.ts'

/**
 * An agentctl of its own that runs processes of effects until somebody kills it: `program JSON`. Prints what it could not
 * arm, then how each process ended, a line each.
 */
export interface Orders {
  directory: string
  tag: string
  options: ArmOptions & { withoutNative?: boolean }
  processes: (Omit<Launch, 'signal' | 'stdin'> & { effect: string })[]
}

export interface Ended {
  effect: string
  end: object
  containment: object
  stdout: string
}

export type Told = { absent: string[] } | Ended

if (import.meta.main) await run(JSON.parse(process.argv[2] ?? '') as Orders)

async function run({ directory, tag, options: { withoutNative, ...options }, processes }: Orders): Promise<void> {
  const armed = armProcesses({
    ...options,
    ...(withoutNative === true && { native: { absent: 'left out by a test' } }),
  })
  tell({ absent: armed.absent.map(({ guarantee }) => guarantee) })
  process.on('SIGUSR2', () => process.exit(130))
  const cancelled = new AbortController()
  process.on('SIGINT', () => cancelled.abort(new Error('SIGINT')))
  const room: Pick<Room, 'directory' | 'tag'> = { directory, tag }
  await Promise.all(
    processes.map(async each => {
      const { end, containment, captured } = await launch(room, null, { ...each, signal: cancelled.signal }).wait
      tell({ effect: each.effect, end, containment, stdout: textOf(captured.stdout) })
    }),
  )
}

function tell(told: Told): void {
  process.stdout.write(`${JSON.stringify(told)}\n`)
}
