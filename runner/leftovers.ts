import { reapContainers } from './container/leftovers.ts'
import { type RunContext, report } from './context.ts'
import { type Leftover, reapLeftovers } from './process/containment/leftovers.ts'

/** More than this are counted, not named. */
const maxNamed = 10

/** Before a run's first process: ends what an agentctl that was killed left on this host, and tells it. */
export async function endLeftovers(context: Pick<RunContext, 'ports' | 'host'>): Promise<void> {
  await endContainers(context)
  const { killed, left, isIncomplete } = await reapLeftovers()
  if (killed.length > 0)
    report(context, {
      type: 'warning',
      message: `ended ${killed.length} processes that an agentctl which was killed had left running: ${named(killed)}`,
    })
  if (left.length > 0)
    report(context, {
      type: 'warning',
      message: `${left.length} processes that an agentctl which was killed had left running could not be ended: ${named(left)}; end them as the user that they run as`,
    })
  if (isIncomplete)
    report(context, {
      type: 'warning',
      message:
        'not everything that the registry of agentctl processes tells of could be looked at (docs/runner.md, After a SIGKILL): the next run goes on; where this stays, look at what an effect of this user wrote there',
    })
}

/** The same of containers. */
async function endContainers(context: Pick<RunContext, 'ports' | 'host'>): Promise<void> {
  const { removed, left } = await reapContainers(context.ports.environment)
  if (removed.length > 0) {
    const names = removed
      .slice(0, maxNamed)
      .map(({ engine, id, effect }) => `${id.slice(0, 12)} (${engine}, of effect ${effect})`)
    report(context, {
      type: 'warning',
      message: `removed ${removed.length} containers that an agentctl which was killed had left: ${names.join(', ')}${removed.length > maxNamed ? ', ...' : ''}`,
    })
  }
  for (const { engine, id, reason } of left.slice(0, maxNamed))
    report(context, {
      type: 'warning',
      message: `${id === '' ? 'containers' : `container ${id.slice(0, 12)}`} of an agentctl that was killed could not be removed on ${engine}: ${reason}; the next run tries again`,
    })
}

function named(leftovers: readonly Leftover[]): string {
  const names = leftovers
    .slice(0, maxNamed)
    .map(({ pid, command, effect }) => `${command} (${pid}${effect === '' ? '' : `, of effect ${effect}`})`)
  return `${names.join(', ')}${leftovers.length > maxNamed ? ', ...' : ''}`
}
