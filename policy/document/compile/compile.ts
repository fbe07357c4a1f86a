import { effectivePolicy, policyValues } from '../../decision/effective.ts'
import { type Floor, floorDigest } from '../../decision/floor.ts'
import type { JsonObject } from '../../json.ts'
import type { JsonSchemas } from '../../json-schema/types.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { checkBindings } from '../expand/bindings.ts'
import { type Expansion, expand } from '../expand/expand.ts'
import { checkInvocations } from '../expand/invocations.ts'
import { checkRouters } from '../expand/routes.ts'
import { withPacks } from '../packs/index.ts'
import type { Versions } from '../packs/versions.ts'
import { mergeDiagnostics } from '../parse.ts'
import type { EffectivePolicy, Plan } from '../plan.ts'
import { checkActions, checkInput, checkOutputSchema } from './actions.ts'
import { budgetsOf } from './budgets.ts'
import { checkCapture } from './capture.ts'
import { checkCompensationIds, compensationOf, withCompensations } from './compensation.ts'
import { planDigest } from './digests.ts'
import { filesOf, workflowDigest } from './files.ts'
import { underLimits } from './floor-limits.ts'
import { checkGivenInputs, effectiveInputs, reportUnusable, usableInputs } from './inputs.ts'
import { longTermOf } from './long-term.ts'
import { checkMemoryWrites } from './memory-writes.ts'
import { planTasks } from './planned.ts'
import { checkReferences } from './references.ts'
import { processesOf, requirementsOf } from './requirements.ts'
import { checkSecrets } from './secrets.ts'
import { checkSize } from './size.ts'
import { collectLists } from './tasks.ts'
import { reportUnsupported } from './unsupported.ts'
import { mergeVars, readVarsFiles, reportTemplates } from './vars.ts'
import { tasksOf, type Work } from './work.ts'

export interface CompileOptions {
  document: WorkflowDocument
  /** Given inputs; each must be declared in `spec.inputs` or read by a template. */
  inputs: JsonObject
  /** Texts of the files that the document names, as `readNamedFiles` gives them. */
  files: { readonly [path: string]: string }
  /** The effective repository floor, null where none is installed. */
  floor: Floor | null
  /** Variables that replace those of the document, `--vars-file`: data, as `readVars` gives them. */
  vars?: JsonObject
  /** What checks the document's JSON Schemas, as `jsonSchemasFor` gives it. */
  jsonSchemas?: JsonSchemas | null
  /** What compares the versions of the document's packs, as `versionsFor` gives it. */
  versions?: Versions | null
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
 * TypeError where the document has schemas and `jsonSchemas` is not given, or packs and `versions` is not.
 */
export function compile(options: CompileOptions): CompileResult {
  const { floor, inputs, requireInputs = true } = options
  const {
    document: merged,
    reporter,
    placeOf,
    inPacks,
  } = withPacks(options.document, options.files, options.versions ?? null)
  const document = underLimits(merged, floor, reporter)
  const { spec } = document.workflow
  const { contents, diagnostics: inFiles } = readVarsFiles(document, options.files, reporter)
  const overrides = options.vars ?? {}

  const work: Work = {
    document,
    reporter,
    placeOf,
    floor,
    jsonSchemas: options.jsonSchemas ?? null,
    inputs: effectiveInputs(spec.inputs, usableInputs(inputs)),
    vars: { ...mergeVars(document.directory, contents, spec.varsFiles, spec.vars), ...overrides },
    overrides,
    ...collectLists({ document, reporter, contents, overrides }),
  }
  reportUnusable(work, inputs)
  checkGivenInputs(work, inputs)
  reportTemplates(reporter, ['spec', 'vars'], spec.vars)
  reportUnsupported(work)
  checkActions(work)
  checkSecrets(work)
  for (const task of tasksOf(work)) {
    for (const one of task.compensation === undefined ? [task] : [task, task.compensation])
      if (one.action !== null && !one.faulty) checkInput(work, one, one.action)
    checkOutputSchema(work, task)
  }
  checkBindings(work)
  checkRouters(work)
  const circular = checkInvocations(work)
  const { doubtful, inputsMissing } = checkReferences(work, { requireInputs })
  const expansion = expand(work, { circular, doubtful, lenient: inputsMissing && !requireInputs })
  const policy = meetFloor(work)

  const plan = assemble(work, options, policy, expansion)
  const found = mergeDiagnostics(document.errors, inFiles, inPacks(), reporter.diagnostics())
  return { plan: found.some(({ severity }) => severity === 'error') ? null : plan, diagnostics: found }
}

function meetFloor({ document, floor, reporter }: Work): EffectivePolicy {
  const { policy, violations } = effectivePolicy(document.workflow.spec.policy, floor)
  const help = 'ask for no more than the floor allows, or have whoever keeps the floor change it'
  for (const { field, message } of violations) {
    reporter.report(['spec', 'policy', ...field.split('.')], { code: 'floor_violation', message, help })
  }
  return policy
}

/** The plan of what is well-formed; also made for a faulty document, since its parts report what only shows there. */
function assemble(
  work: Work,
  options: CompileOptions,
  effective: EffectivePolicy,
  { placed, items }: Expansion,
): Plan | null {
  const { document, floor, reporter } = work
  const { metadata, spec } = document.workflow
  const { maxConcurrency, defaultTimeoutSeconds } = spec.runtime

  const planned = planTasks(work, placed, defaultTimeoutSeconds)
  const policy = policyValues(effective)
  checkMemoryWrites(work, planned)
  checkCapture(work, planned, policy)
  checkCompensationIds(work, planned)
  if (!checkSize(work, planned)) return null

  const { tasks } = planned
  const acting = withCompensations(tasks)
  const plan: Plan = {
    formatVersion: 1,
    workflowName: metadata.name,
    workflowDigest: '',
    planDigest: '',
    floorDigest: floor === null ? null : floorDigest(floor),
    order: tasks.map(task => task.id),
    maxConcurrency,
    defaultTimeoutSeconds,
    inputs: work.inputs,
    outputs: spec.outputs,
    vars: work.vars,
    memory: spec.memory.working,
    tasks: Object.fromEntries(tasks.map(task => [task.id, task])),
    effectivePolicy: effective,
    processes: processesOf(work, acting, defaultTimeoutSeconds),
    requirements: requirementsOf(acting, policy.approval),
    sourceFiles: filesOf(options.document, options.files).sort(),
    budgets: budgetsOf(work, items),
    ...longTermOf(work, acting),
    ...compensationOf(work, tasks),
  }
  if (reporter.hasErrors() || document.faulty) return plan
  plan.workflowDigest = workflowDigest(options.document, options.files)
  plan.planDigest = planDigest(plan)
  return plan
}
