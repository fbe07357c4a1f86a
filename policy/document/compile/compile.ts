import { canonical } from '../../canonical.ts'
import { effectivePolicy, policyValues } from '../../decision/effective.ts'
import { type Floor, floorDigest } from '../../decision/floor.ts'
import type { JsonObject } from '../../json.ts'
import type { JsonSchemas } from '../../json-schema/types.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { documentLimits } from '../limits.ts'
import { mergeDiagnostics } from '../parse.ts'
import type { EffectivePolicy, Plan, PlanTask } from '../plan.ts'
import { createReporter } from '../reporter.ts'
import { placesOfItems } from '../yaml/places.ts'
import { actionPlanner, checkActions, checkInput, checkOutputSchema, inputOf } from './actions.ts'
import { checkCapture } from './capture.ts'
import { planDigest } from './digests.ts'
import { filesOf, workflowDigest } from './files.ts'
import { boundedBy } from './floor-limits.ts'
import { Closure } from './graph.ts'
import { checkGivenInputs, effectiveInputs } from './inputs.ts'
import { checkMemoryWrites, memoryWritesOf } from './memory-writes.ts'
import { checkReferences } from './references.ts'
import { processesOf, requirementsOf } from './requirements.ts'
import { checkSecrets } from './secrets.ts'
import { buildGraph, collectTasks } from './tasks.ts'
import { reportUnsupported } from './unsupported.ts'
import { mergeVars, readVarsFiles, reportTemplates } from './vars.ts'
import type { Work } from './work.ts'

export interface CompileOptions {
  document: WorkflowDocument
  /** Given inputs; each must be declared in `spec.inputs` or read by a template. */
  inputs: JsonObject
  /** Texts of the files that `filesOf` names, by the names it gives. */
  files: { readonly [path: string]: string }
  /** The effective repository floor, null where none is installed. */
  floor: Floor | null
  /** Variables that replace those of the document, `--vars-file`: data, as `readVars` gives them. */
  vars?: JsonObject
  /** What checks the document's JSON Schemas, as `jsonSchemasFor` gives it. */
  jsonSchemas?: JsonSchemas | null
  /** Whether an input that is read and has no value is an error (the default); else a warning, for a check without inputs. */
  requireInputs?: boolean
}

export interface CompileResult {
  /** null where there is any error, here or in parsing. */
  plan: Plan | null
  /** What compilation found, and the errors of parsing, in the order of the text; at most 100 errors. */
  diagnostics: Diagnostic[]
}

/**
 * Makes the plan of a document, or all that stands in its way. Pure: the same arguments give the same bytes. Throws
 * TypeError where the document has schemas and `jsonSchemas` is not given.
 */
export function compile(options: CompileOptions): CompileResult {
  const { document, floor, inputs, requireInputs = true } = options
  const { spec } = document.workflow
  const reporter = createReporter(document.tree, document.file)
  const { contents, diagnostics: inFiles } = readVarsFiles(document, options.files, reporter)
  const overrides = options.vars ?? {}

  const { tasks, indexOf } = collectTasks(document, reporter, contents, overrides)
  const { graph, order } = buildGraph(document, reporter, tasks, indexOf)
  const work: Work = {
    document,
    reporter,
    floor,
    jsonSchemas: options.jsonSchemas ?? null,
    inputs: effectiveInputs(spec.inputs, inputs),
    vars: { ...mergeVars(document.directory, contents, spec.varsFiles, spec.vars), ...overrides },
    overrides,
    tasks,
    indexOf,
    graph,
    order,
    closure: new Closure(graph),
  }
  checkGivenInputs(work, inputs)
  reportTemplates(reporter, ['spec', 'vars'], spec.vars)
  reportUnsupported(work)
  checkActions(work)
  checkSecrets(work)
  for (const task of tasks) {
    if (task.action !== null && !task.faulty) checkInput(work, task, task.action)
    checkOutputSchema(work, task)
  }
  checkReferences(work, { requireInputs })
  checkMemoryWrites(work)
  const policy = meetFloor(work)

  const plan = assemble(work, options, policy)
  const found = mergeDiagnostics(document.errors, inFiles, reporter.diagnostics())
  return { plan: found.some(({ severity }) => severity === 'error') ? null : plan, diagnostics: found }
}

function meetFloor({ document, floor, reporter }: Work): EffectivePolicy {
  const { policy, violations } = effectivePolicy(document.workflow.spec.policy, floor)
  for (const { field, message } of violations) {
    reporter.report(['spec', 'policy', ...field.split('.')], { code: 'floor_violation', message })
  }
  return policy
}

/** The plan of what is well-formed; also made for a faulty document, since its parts report what only shows there. */
function assemble(work: Work, options: CompileOptions, effective: EffectivePolicy): Plan | null {
  const { document, floor, reporter } = work
  const { metadata, spec } = document.workflow
  const bound = (path: string[], field: string, written: number | undefined, otherwise: number): number =>
    boundedBy(floor, reporter, path, { field, written, otherwise })
  const written = runtimeOf(document)
  const runtime = ['spec', 'runtime']
  const maxConcurrency = bound(runtime, 'maxConcurrency', written.maxConcurrency, spec.runtime.maxConcurrency)
  const defaultTimeoutSeconds = bound(
    runtime,
    'defaultTimeoutSeconds',
    written.defaultTimeoutSeconds,
    spec.runtime.defaultTimeoutSeconds,
  )

  const planned = planTasks(work, defaultTimeoutSeconds)
  const policy = policyValues(effective)
  checkCapture(work, planned, policy)
  if (!checkSize(work, planned)) return null

  const ordered = Object.values(planned)
  const plan: Plan = {
    formatVersion: 1,
    workflowName: metadata.name,
    workflowDigest: '',
    planDigest: '',
    floorDigest: floor === null ? null : floorDigest(floor),
    order: ordered.map(task => task.id),
    maxConcurrency,
    defaultTimeoutSeconds,
    inputs: work.inputs,
    outputs: spec.outputs,
    vars: work.vars,
    memory: spec.memory.working,
    tasks: planned,
    effectivePolicy: effective,
    processes: processesOf(work, ordered, defaultTimeoutSeconds),
    requirements: requirementsOf(ordered, policy.approval),
    sourceFiles: filesOf(document).sort(),
    budgets: budgetsOf(work),
  }
  if (reporter.hasErrors() || document.faulty) return plan
  plan.workflowDigest = workflowDigest(document, options.files)
  plan.planDigest = planDigest(plan)
  return plan
}

function planTasks(work: Work, defaultTimeoutSeconds: number): { [id: string]: PlanTask } {
  const { document, floor, reporter } = work
  const places = placesOfItems(document.tree, ['spec', 'tasks'])
  const planAction = actionPlanner(work)
  const planned: { [id: string]: PlanTask } = {}
  for (const index of work.order) {
    const compiled = work.tasks[index]
    if (compiled === undefined || compiled.action === null) continue
    const { task, action } = compiled
    const path = ['spec', 'tasks', index]
    const ownTimeout = task.timeoutSeconds ?? action.definition.timeoutSeconds
    const place = task.timeoutSeconds === undefined ? ['spec', 'actions', action.name] : path
    const timeoutSeconds = boundedBy(floor, reporter, place, {
      field: 'timeoutSeconds',
      written: ownTimeout,
      otherwise: defaultTimeoutSeconds,
    })
    planned[task.id] = {
      id: task.id,
      uses: task.uses,
      needs: (work.graph.needs[index] ?? []).map(need => work.graph.ids[need] ?? ''),
      when: task.when ?? null,
      vars: compiled.vars,
      with: inputOf(compiled, action),
      retry: task.retry ?? { maxAttempts: 1, backoffMs: 0 },
      timeoutSeconds,
      failure: task.failure,
      memoryWrites: memoryWritesOf(compiled),
      ...(task.outputSchema !== undefined && { outputSchema: task.outputSchema }),
      action: planAction(compiled, action, timeoutSeconds),
      source: places[index] ?? { line: 1, column: 1 },
    }
  }
  return planned
}

/** What many tasks share counts once for each in the plan, so a small document could make a huge one. */
function checkSize(work: Work, planned: { [id: string]: PlanTask }): boolean {
  const sizes = new Map<object, number>()
  const sizeOf = (value: object): number => {
    const known = sizes.get(value)
    if (known !== undefined) return known
    const size = canonical(value as JsonObject).length
    sizes.set(value, size)
    return size
  }
  let size = 0
  for (const { action } of work.tasks) {
    if (action?.definition.with !== undefined) size += sizeOf(action.definition.with)
  }
  for (const { action } of Object.values(planned)) size += sizeOf(action)
  if (size <= documentLimits.planCharacters) return true
  work.reporter.report(['spec', 'actions'], {
    code: 'schema_violation',
    message: `the plan would be larger than ${documentLimits.planCharacters} characters: each task repeats what its action declares`,
    help: 'move large values out of `with` and `args` of actions that many tasks use',
  })
  return false
}

function runtimeOf(document: WorkflowDocument): { maxConcurrency?: number; defaultTimeoutSeconds?: number } {
  const spec = document.value['spec'] as JsonObject | undefined
  const runtime = spec?.['runtime']
  return document.lost.has('runtime') || runtime === undefined ? {} : (runtime as { maxConcurrency?: number })
}

const runBudgets = ['maxTasks', 'maxWallTimeSeconds', 'maxProcessOutputBytes', 'maxArtifactBytes'] as const

/** Budgets that are written, and those that only the floor sets. */
function budgetsOf({ document, floor, reporter }: Work): { [name: string]: number } {
  const written: { readonly [name: string]: number | undefined } = document.workflow.spec.runtime.budgets
  const budgets: { [name: string]: number } = {}
  const names = new Set([...Object.keys(written), ...runBudgets.filter(name => floor?.limits?.[name] !== undefined)])
  for (const field of [...names].sort()) {
    const otherwise = floor?.limits?.[field] ?? 0
    budgets[field] = boundedBy(floor, reporter, ['spec', 'runtime', 'budgets'], {
      field,
      written: written[field],
      otherwise,
    })
  }
  return budgets
}
