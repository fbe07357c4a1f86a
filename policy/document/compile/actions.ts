import { isolations } from '../../effect.ts'
import type { Json, JsonObject } from '../../json.ts'
import type { PlanAction, PlanCommand, SecretReference } from '../plan.ts'
import type { Action } from '../schema/action.ts'
import { holdsTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import { checkExtension, extensionOf } from './extensions.ts'
import { boundedBy, setBy } from './floor-limits.ts'
import { kinds, unsupportedKinds } from './kinds.ts'
import { checkKnownInput, checkSchema } from './schemas.ts'
import type { CompiledTask, UsedAction, Work } from './work.ts'

const processFields = [
  'command',
  'args',
  'cwd',
  'env',
  'stdoutLimitBytes',
  'stderrLimitBytes',
  'combinedOutputLimitBytes',
  'artifacts',
] as const

/** Checks what every declared action must satisfy, used or not. */
export function checkActions(work: Work): void {
  for (const [name, action] of Object.entries(work.document.workflow.spec.actions)) {
    const path = ['spec', 'actions', name]
    if (!kinds[action.kind].process) refuseProcessFields(work, path, action)
    else {
      if (action.command === undefined) {
        const help = 'write the program as `command` and its arguments as `args`; there is no shell'
        work.reporter.report(path, {
          code: 'schema_violation',
          message: `action \`${name}\` runs a process and has no command`,
          help,
        })
      }
      checkIsolation(work, path, action)
    }
    if (action.kind === 'extension.process')
      checkExtension(work, path, name, action, isWritten(work.document.value['spec'], path, 'capabilities'))
    else if (action.protocolVersion !== undefined) refuseField(work, path, action, 'protocolVersion', 'extensions')
    for (const field of ['inputSchema', 'outputSchema'] as const) {
      const schema = action[field]
      if (schema !== undefined) checkSchema(work, [...path, field], schema)
    }
  }
}

function refuseProcessFields(work: Work, path: Path, action: Action): void {
  const written = work.document.value['spec']
  for (const field of processFields) {
    if (isWritten(written, path, field)) refuseField(work, path, action, field, 'process actions')
  }
}

function refuseField(work: Work, path: Path, { kind }: Action, field: string, owners: string): void {
  const message = `\`${field}\` has no meaning for ${kind}`
  work.reporter.report([...path, field], {
    code: 'schema_violation',
    message,
    help: `only ${owners} have it`,
    on: 'key',
  })
}

function isWritten(spec: Json | undefined, path: Path, field: string): boolean {
  const actions = isObject(spec) ? spec['actions'] : undefined
  const action = isObject(actions) ? actions[String(path[2])] : undefined
  return isObject(action) && Object.hasOwn(action, field)
}

function checkIsolation(work: Work, path: Path, action: Action): void {
  const least = work.floor?.minimumIsolation
  if (least !== undefined && isolations.indexOf(action.isolation) < isolations.indexOf(least)) {
    work.reporter.report([...path, 'isolation'], {
      code: 'floor_violation',
      message: `isolation \`${action.isolation}\` is weaker than the \`${least}\` that the floor set by ${setBy(work.floor, 'minimumIsolation')} requires`,
      help: `write isolation: ${least}`,
    })
  }
  checkContained(work, path, action)
  const { isolation } = action
  const image = isolation === 'process' ? undefined : action[isolation]?.image
  const images = work.floor?.images
  if (image === undefined || images === undefined || images.includes(image)) return
  const allowed = images.length === 0 ? 'none' : images.map(one => `\`${one}\``).join(', ')
  work.reporter.report([...path, isolation, 'image'], {
    code: 'floor_violation',
    message: `image \`${image}\` is not among the images that the floor set by ${setBy(work.floor, 'images')} allows`,
    help: `it allows ${allowed}; use one of these, or have the floor changed`,
  })
}

/** A container says what it runs; what is said of one that is not used would be ignored. */
function checkContained(work: Work, path: Path, action: Action): void {
  for (const isolation of ['container', 'cell'] as const) {
    const isNeeded = action.isolation === isolation
    const isThere = action[isolation] !== undefined
    if (isNeeded === isThere) continue
    work.reporter.report(isThere ? [...path, isolation] : path, {
      code: 'schema_violation',
      message: isThere
        ? `\`${isolation}\` is set for isolation \`${action.isolation}\``
        : `isolation \`${isolation}\` needs \`${isolation}\``,
      help: isThere ? `write isolation: ${isolation}, or leave it out` : `add ${isolation}.image`,
      on: isThere ? 'key' : 'value',
    })
  }
}

/** Checks the input of a task against what its action takes; templates are taken to give the right type. */
export function checkInput(work: Work, task: CompiledTask, action: UsedAction): void {
  const { input } = action.kind
  if (unsupportedKinds[action.definition.kind] !== undefined) return
  const given = inputOf(task, action)
  checkInputSchema(work, task, action, given)
  if (input === null) return
  const path = [...task.path, 'with']
  const { kind } = action.definition
  for (const field of input.required) {
    if (Object.hasOwn(given, field)) continue
    work.reporter.report(path, {
      code: 'schema_violation',
      message: `${kind} needs \`${field}\` in \`with\``,
      help: `add with.${field}`,
    })
  }
  for (const [field, value] of Object.entries(given)) {
    const place =
      task.task.with !== undefined && Object.hasOwn(task.task.with, field)
        ? path
        : ['spec', 'actions', action.name, 'with']
    if (!input.required.includes(field) && !input.optional.includes(field)) {
      const takes = [...input.required, ...input.optional]
      const help = takes.length === 0 ? 'it takes no input' : `it takes ${takes.join(', ')}`
      work.reporter.report([...place, field], {
        code: 'schema_violation',
        message: `${kind} does not take \`${field}\``,
        help,
        on: 'key',
      })
    } else if (!fits(field, value)) {
      const wanted = wantedOf[field] ?? 'a text'
      const help =
        wantedOf[field] === undefined && typeof value !== 'object' ? `write "${String(value)}"` : `write ${wanted}`
      work.reporter.report([...place, field], {
        code: 'schema_violation',
        message: `\`${field}\` of ${kind} must be ${wanted}`,
        help,
      })
    }
  }
}

function checkInputSchema(work: Work, { path: own, task }: CompiledTask, action: UsedAction, given: JsonObject): void {
  const { inputSchema } = action.definition
  if (inputSchema === undefined) return
  const path = [...own, ...(task.with === undefined ? [] : ['with'])]
  checkKnownInput(work, { path, what: `action \`${action.name}\`` }, inputSchema, given)
}

/** Checks the schema of a task's output. */
export function checkOutputSchema(work: Work, { path, task }: CompiledTask): void {
  if (task.outputSchema !== undefined) checkSchema(work, [...path, 'outputSchema'], task.outputSchema)
}

/** Fields of an input that are no text. */
const wantedOf: { readonly [field: string]: string } = {
  that: 'true, false or a condition',
  limit: 'a whole number from 1 to 100',
}

function fits(field: string, value: Json): boolean {
  if (field === 'value' || (typeof value === 'string' && holdsTemplate(value))) return true
  if (field === 'limit') return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 100
  return field === 'that' ? typeof value === 'boolean' : typeof value === 'string'
}

/** The task's input over the defaults of its action. */
export function inputOf(task: CompiledTask, action: UsedAction): JsonObject {
  const { with: defaults } = action.definition
  if (defaults === undefined) return task.task.with ?? {}
  return { ...defaults, ...task.task.with }
}

/** Makes the plan's form of actions; one object for all tasks that use an action with the same time limit. */
export function actionPlanner(
  work: Work,
): (task: CompiledTask, action: UsedAction, timeoutSeconds: number) => PlanAction {
  const made = new Map<string, PlanAction>()
  return (_, action, timeoutSeconds) => {
    const key = `${timeoutSeconds} ${action.name}`
    const known = made.get(key)
    if (known !== undefined) return known
    const { definition, kind, name } = action
    const { inputSchema, outputSchema } = definition
    const planned: PlanAction = {
      name,
      kind: definition.kind,
      tool: kind.tool,
      capabilities: definition.capabilities,
      effectClass: kind.effectClass,
      risk: kind.process && definition.isolation !== 'process' ? 'medium' : kind.risk,
      idempotency: definition.idempotency ?? kind.idempotency,
      isolation: definition.isolation,
      process: kind.process ? commandOf(work, definition, timeoutSeconds) : null,
      ...(definition.isolation === 'container' && definition.container && { container: definition.container }),
      ...(definition.kind === 'extension.process'
        ? { extension: extensionOf(definition) }
        : { ...(inputSchema !== undefined && { inputSchema }), ...(outputSchema !== undefined && { outputSchema }) }),
    }
    made.set(key, planned)
    return planned
  }
}

const mebibyte = 1_048_576

/** What a process action runs, with the limits that hold under the floor. */
export function commandOf({ floor }: Pick<Work, 'floor'>, action: Action, timeoutSeconds: number): PlanCommand {
  const limit = (
    field: 'stdoutLimitBytes' | 'stderrLimitBytes' | 'combinedOutputLimitBytes',
    otherwise: number,
  ): number => boundedBy(floor, field, action[field], otherwise)
  return {
    command: action.command ?? '',
    args: action.args,
    cwd: action.cwd,
    env: action.env as { [variable: string]: SecretReference },
    timeoutSeconds,
    stdoutLimitBytes: limit('stdoutLimitBytes', mebibyte),
    stderrLimitBytes: limit('stderrLimitBytes', mebibyte),
    combinedOutputLimitBytes: limit('combinedOutputLimitBytes', 2 * mebibyte),
    artifacts: action.artifacts,
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
