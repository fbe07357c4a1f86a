import type { Ledger, RunSnapshot } from '../ledger/port.ts'
import type { Floor } from '../policy/decision/index.ts'
import type { Diagnostic } from '../policy/document/diagnostic.ts'
import type { Plan } from '../policy/document/plan.ts'
import type { JsonObject } from '../policy/json.ts'
import type { ProgressEvent, RunnerPorts } from '../runner/index.ts'
import type { ActionContext } from './context.ts'
import { compilePlan, type LoadedDocument } from './document.ts'
import { type HostFloor, refuseStricter } from './floor.ts'
import { secretsOf } from './guard.ts'

/** The plan of a new run, its findings annotated, the secrets that it reads known to the guard. */
export async function planOf(context: ActionContext, loaded: LoadedDocument, floor: Floor | null): Promise<Plan> {
  const { plan, warnings } = await compilePlan(loaded, context.inputs, floor)
  learnPlan(context, loaded, plan)
  annotate(context, [...loaded.warnings, ...warnings])
  return plan
}

/** A document's findings at their lines. */
export function annotate(
  { annotations }: Pick<ActionContext, 'annotations'>,
  diagnostics: readonly Diagnostic[],
): void {
  for (const { severity, code, message, help, file, line, column } of diagnostics)
    annotations.add({
      level: severity,
      title: code,
      message: help === '' ? message : `${message} (${help})`,
      file,
      line,
      column,
    })
}

function learnPlan({ guard, environment, progress }: ActionContext, loaded: LoadedDocument, plan: Plan): void {
  guard.learn(secretsOf(plan, environment))
  progress.place(task => {
    const source = plan.tasks[task]?.source
    if (source === undefined) return undefined
    const file = source.file === undefined ? loaded.path : (loaded.places.get(source.file) ?? source.file)
    return { ...source, file }
  })
}

/**
 * The ledger of a resumed run: its snapshot is read once, here, so that the stored plan's secrets are known before
 * anything runs and the floors of this moment are checked against it. Throws ActionError (exit 3) where they are
 * stricter than the plan: it is never recompiled.
 */
export async function resumable<Port extends Ledger>(
  context: ActionContext,
  loaded: LoadedDocument,
  ledger: Port,
  run: string,
  floor: Floor | null,
): Promise<Port> {
  const snapshot = await ledger.snapshot(run)
  if (snapshot === null) return ledger
  const plan = snapshot.plan as unknown as Plan
  learnPlan(context, loaded, plan)
  context.progress.asked(snapshot.pauses.flatMap(pause => pause.items))
  refuseStricter(snapshot, floor, context.job)
  let first: RunSnapshot | null = snapshot
  return {
    ...ledger,
    async snapshot(of: string) {
      const known = of === run ? first : null
      first = null
      return known ?? ledger.snapshot(of)
    },
  }
}

/** An end as the job may see it. */
function shown(guard: ActionContext['guard'], event: Extract<ProgressEvent, { type: 'task.ended' }>): ProgressEvent {
  const { message, enforcement } = event
  return {
    ...event,
    message: guard.text(message),
    ...(enforcement !== undefined && { enforcement: guard.json(enforcement) as JsonObject }),
  }
}

/** What all floors demand together, and that of this host, which is part of what an approval is bound to. */
export interface Floors {
  effective: Floor | null
  host: HostFloor
}

/** What the runner gets from this face. */
export function portsFor(
  context: ActionContext,
  loaded: LoadedDocument,
  ledger: Ledger,
  floors: Floors,
  ledgerFile: string | null,
): RunnerPorts {
  const { clock, ids, environment, job, signal, progress, guard } = context
  return {
    ledger,
    clock,
    ids,
    workspace: loaded.workspace,
    environment,
    protectedPaths: [
      loaded.absolute,
      ...loaded.sources,
      ...(ledgerFile === null ? [] : [ledgerFile, `${ledgerFile}-wal`, `${ledgerFile}-shm`]),
    ],
    temporaryDirectories: [job.temp],
    searchPath: floors.effective?.searchPath ?? [],
    hostFloor: floors.host.state === 'installed' ? floors.host.floor : null,
    hostFloorReadable: floors.host.state !== 'not readable',
    signal,
    learnSecrets: values => guard.learn(values),
    report: event => {
      if (event.type === 'task.ended') progress.report(shown(guard, event))
      else if (event.type === 'decision')
        progress.report({ ...event, reason: guard.text(event.reason), steps: guard.record(event.steps) })
      else progress.report(event)
    },
  }
}
