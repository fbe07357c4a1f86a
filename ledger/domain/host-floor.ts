import type { HostFloorRecord } from '../commands.ts'
import type { RunChange } from './change.ts'

/** Keeps what the run's holder told of its host's floor; undefined leaves what an earlier one told. */
export function setHostFloor(change: RunChange, floor: HostFloorRecord | undefined): void {
  if (floor === undefined) return
  change.sql.run(
    'INSERT INTO host_floors (run, floor) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET floor = excluded.floor',
    change.run,
    JSON.stringify(floor),
  )
}
