import type { ApprovalMode } from '../../decision/policy.ts'
import type { Predictability } from '../../effect.ts'
import type { Json } from '../../json.ts'
import type { PlanAction, PlanEffect, PlanProcess, PlanRequirements } from '../plan.ts'
import { expressionsOf, holdsTemplate, parseTemplate } from '../template/template.ts'
import { commandOf } from './actions.ts'
import type { Effective } from './compensation.ts'
import { boundedBy } from './floor-limits.ts'
import { kinds } from './kinds.ts'
import type { Work } from './work.ts'

const mutating: readonly string[] = ['workspace_mutate', 'external_mutate', 'process_execution', 'remote_agent']

/** Whether the policy's mode makes an effect of this class and risk wait for a person. */
export function approvalPossible(
  mode: ApprovalMode,
  { effectClass, risk }: Pick<PlanAction, 'effectClass' | 'risk'>,
): boolean {
  if (mode === 'never') return false
  if (mode === 'always') return true
  const mutates = mode !== 'high_risk' && mutating.includes(effectClass)
  return mutates || (mode !== 'mutations' && (risk === 'high' || risk === 'critical'))
}

/** What the tasks will need and do, in plan order. */
export function requirementsOf(tasks: readonly Effective[], mode: ApprovalMode): PlanRequirements {
  const tools = new Set<string>()
  const effects: PlanEffect[] = []
  for (const task of tasks) {
    const { action } = task
    if (task.control !== undefined) continue
    tools.add(action.tool)
    effects.push({
      task: task.id,
      operation: action.kind,
      effectClass: action.effectClass,
      risk: action.risk,
      approvalPossible: approvalPossible(mode, action),
      predictability: predictabilityOf(task),
    })
  }
  return { providers: [], tools: [...tools].sort(), effects }
}

/** An effect is known in full before the run only where nothing of its input comes from the run. */
function predictabilityOf(task: Effective): Predictability {
  const { predictability } = kinds[task.action.kind as keyof typeof kinds]
  if (predictability !== 'full') return predictability
  const { scope, iteration } = task
  // Inputs of a sub-workflow and iterations of a loop come from tasks before; what decides on them is the run's.
  if (scope !== undefined || iteration !== undefined || task.routes !== undefined) return 'partial'
  return readsRun(task.with) || readsRun(task.vars) || (task.when !== null && readsRun(task.when)) ? 'partial' : 'full'
}

function readsRun(value: Json): boolean {
  if (typeof value === 'string') {
    if (!holdsTemplate(value)) return value.startsWith('tasks.') || value.startsWith('memory.')
    // Most templates read inputs: only what could read the run is parsed again.
    if (!value.includes('tasks') && !value.includes('memory')) return false
    const parsed = parseTemplate(value)
    return (
      parsed.ok &&
      expressionsOf(parsed.template).some(({ reference }) => reference.root === 'tasks' || reference.root === 'memory')
    )
  }
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(readsRun)
}

/** Every process action of the document by name, used or not, as the plan lists it. */
export function processesOf(work: Work, tasks: readonly Effective[], defaultTimeoutSeconds: number): PlanProcess[] {
  const users = new Map<string, string[]>()
  for (const { id, action } of tasks) {
    if (action.process === null) continue
    const list = users.get(action.name) ?? []
    if (list.push(id) === 1) users.set(action.name, list)
  }
  const processes: PlanProcess[] = []
  for (const name of Object.keys(work.document.workflow.spec.actions).sort()) {
    const action = work.document.workflow.spec.actions[name]
    if (action === undefined || !kinds[action.kind].process) continue
    const timeoutSeconds = boundedBy(work.floor, 'timeoutSeconds', action.timeoutSeconds, defaultTimeoutSeconds)
    const command = commandOf(work, action, timeoutSeconds)
    const { container } = action
    const contained = action.isolation === 'container' && container !== undefined
    processes.push({
      action: name,
      kind: action.kind,
      tasks: users.get(name) ?? [],
      isolation: action.isolation,
      command: command.command,
      args: command.args,
      container: contained ? { image: container.image, runtime: container.runtime } : null,
      limits: {
        timeoutSeconds: command.timeoutSeconds,
        stdoutLimitBytes: command.stdoutLimitBytes,
        stderrLimitBytes: command.stderrLimitBytes,
        combinedOutputLimitBytes: command.combinedOutputLimitBytes,
        ...(contained && {
          memoryLimitBytes: container.memoryLimitBytes,
          cpuLimitMillis: container.cpuLimitMillis,
          pidsLimit: container.pidsLimit,
        }),
      },
    })
  }
  return processes
}
