import { it } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { runInARow } from './many.ts'
import { useRoom } from './support.ts'

const count = Number(process.env['AGENTCTL_SOAK_CONTAINERS'] ?? 500)

describeEngines(`${count} containers in a row`, one => {
  const room = useRoom(one)
  it('leave nothing that grows', () => runInARow(room, one.engine, count))
})
