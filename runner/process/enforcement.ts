import type { Json, JsonObject } from '../../policy/json.ts'
import type { Containment } from '../executor.ts'
import type { EndedProcess } from './target.ts'

/** One process of an effect, over. */
export type HeldProcess = Pick<EndedProcess, 'captured' | 'containment' | 'container'>

/** Weakest first. */
const strengths: readonly Containment['containment'][] = ['best-effort', 'cgroup', 'container']

/** What is recorded of how the processes of one effect were held, as weakly as the weakest, and how much they printed. */
export function enforcementOf(processes: readonly HeldProcess[]): JsonObject {
  const held = processes.map(({ containment }) => containment)
  const absent = new Map(held.flatMap(one => one.absent.map(entry => [entry.guarantee, { ...entry }])))
  const weakest = strengths.find(one => held.some(({ containment }) => containment === one)) ?? 'cgroup'
  const containers: Json[] = processes.flatMap(({ container }) => (container === undefined ? [] : [container]))
  return {
    containment: weakest,
    absent: [...absent.values()],
    left: held.flatMap(({ left }) => left.map(process => ({ ...process }))),
    printedBytes: processes.reduce((sum, { captured }) => sum + captured.stdout.length + captured.stderr.length, 0),
    ...(containers.length > 0 && { containers }),
  }
}
