import type { Json, JsonObject } from '../policy/json.ts'
import type { TaskLine } from './progress.ts'

/** Names shown of the tasks that were held alike. */
const mostNamed = 20

/** How the process effects of these tasks were held, one line for all that were held alike, and each guarantee that was absent. */
export function containmentLines(tasks: readonly Pick<TaskLine, 'task' | 'enforcement'>[]): string[] {
  const alike = new Map<string, string[]>()
  for (const { task, enforcement } of tasks) {
    if (typeof enforcement?.['containment'] !== 'string') continue
    const held = describe(enforcement)
    alike.set(held, [...(alike.get(held) ?? []), task])
  }
  return [...alike].map(([held, names]) => `${named(names)}: ${held}`)
}

function named(tasks: string[]): string {
  const shown = tasks.slice(0, mostNamed).join(', ')
  return tasks.length > mostNamed ? `${shown} and ${tasks.length - mostNamed} more` : shown
}

function describe({ containment, absent, left }: JsonObject): string {
  const missing = objectsIn(absent).map(({ guarantee, reason }) => `absent guarantee ${guarantee} (${reason})`)
  const alive = objectsIn(left).map(({ pid, command }) => `process ${pid} (${command}) could not be ended`)
  return [`containment ${containment}`, ...missing, ...alive].join('; ')
}

function objectsIn(value: Json | undefined): JsonObject[] {
  if (!Array.isArray(value)) return []
  return value.filter((item): item is JsonObject => item !== null && typeof item === 'object' && !Array.isArray(item))
}
