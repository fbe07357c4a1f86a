import path from 'node:path'
import { policyValues } from '../../policy/decision/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { EffectResult, Prepared } from '../../runner/executor.ts'
import { createExecutors } from '../../runner/executors.ts'
import { openHost } from '../../runner/host.ts'
import type { RunnerPorts, RunOutcome } from '../../runner/index.ts'
import { planOf, portsOf, type Scene, start } from '../runner/support.ts'

export interface Tool extends JsonObject {
  command: string
}

export interface ToolSettings {
  policy?: JsonObject
  ports?: Partial<RunnerPorts>
}

/** The plan of one process action, with everything allowed that its test does not take back. */
export function toolPlan(tool: Tool, policy: JsonObject = {}) {
  return planOf({
    policy: {
      approval: 'never',
      writableRoots: ['out'],
      processAllowlist: [path.basename(tool.command)],
      environmentAllowlist: Object.keys((tool['env'] as JsonObject | undefined) ?? {}),
      ...policy,
    },
    outputs: { result: '${{ tasks.tool.output }}' },
    actions: { tool: { kind: 'builtin.shell.exec', ...tool } },
    tasks: [{ id: 'tool', uses: 'action:tool' }],
  })
}

/** Runs it to its end. */
export function runTool(scene: Scene, tool: Tool, { policy, ports }: ToolSettings = {}): Promise<RunOutcome> {
  return start(scene, toolPlan(tool, policy), ports === undefined ? {} : { ports })
}

export const sh = (script: string, more: JsonObject = {}): Tool => ({
  command: '/bin/sh',
  args: ['-c', script],
  ...more,
})

/** Output of the one task; empty where it has none. */
export function resultOf(outcome: RunOutcome): JsonObject {
  return (outcome.outputs as { result: JsonObject } | null)?.result ?? {}
}

/** The code of the first message, `task tool failed (CODE): ...`. */
export function codeOf(outcome: RunOutcome): string {
  return /\(([a-z_]+)\)/.exec(outcome.messages[0] ?? '')?.[1] ?? ''
}

/** The one effect that the ledger has. */
export function effectOf(scene: Scene, outcome: RunOutcome) {
  const [effect] = scene.ledger.store.effects(outcome.run)
  if (effect === undefined) throw new Error(`no effect: ${JSON.stringify(outcome)}`)
  return effect
}

/** The rule that refused the one effect, with its subject, reason and remedy. */
export function refusalOf(scene: Scene, outcome: RunOutcome): { rule: string; subject: string; remedy: string } {
  const step = effectOf(scene, outcome).decision.steps.at(-1)
  if (step?.outcome !== 'deny') throw new Error(`not denied: ${JSON.stringify(outcome)}`)
  return step
}

/** Takes the facts of the one process action, as a run does before it decides; the caller starts or closes it. */
export async function prepareTool(scene: Scene, tool: Tool, { policy, ports }: ToolSettings = {}): Promise<Prepared> {
  const plan = toolPlan(tool, policy)
  const host = openHost(portsOf(scene, ports), plan, policyValues(plan.effectivePolicy), () => {})
  const executor = createExecutors(host).get('builtin.shell.exec')
  const task = plan.tasks['tool']
  if (executor === undefined || task === undefined) throw new Error('no process action')
  return executor.prepare({ task, input: {}, effectId: 'a'.repeat(64), memory: {} })
}

/** Starts what was prepared and answers how it ended. */
export async function startTool(prepared: Prepared): Promise<EffectResult> {
  try {
    return await prepared.start(new AbortController().signal).wait
  } finally {
    prepared.close()
  }
}
