import type { JsonObject } from '../../policy/json.ts'
import type { Captured, Containment } from '../executor.ts'

/** One process of an effect, over. */
export interface HeldProcess {
  captured: Captured
  containment: Containment
}

/** What is recorded of how the processes of one effect were held, as weakly as the weakest, and how much they printed. */
export function enforcementOf(processes: readonly HeldProcess[]): JsonObject {
  const held = processes.map(({ containment }) => containment)
  const absent = new Map(held.flatMap(one => one.absent.map(entry => [entry.guarantee, { ...entry }])))
  return {
    containment: held.every(({ containment }) => containment === 'cgroup') ? 'cgroup' : 'best-effort',
    absent: [...absent.values()],
    left: held.flatMap(({ left }) => left.map(process => ({ ...process }))),
    printedBytes: processes.reduce((sum, { captured }) => sum + captured.stdout.length + captured.stderr.length, 0),
  }
}
