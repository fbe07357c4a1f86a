import { disabledWorkflow, missingInput, noDispatchTrigger, noSuchRef, unexpectedInputs } from '../errors.ts'
import type { User, WorkflowRecord } from '../model.ts'
import type { Repository } from '../repository.ts'
import type { StartRun } from './new-run.ts'
import type { Workflow } from './workflow.ts'

/** What POST .../dispatches starts, after the checks that GitHub makes. Throws its refusals. */
export function dispatched(
  repository: Repository,
  workflow: WorkflowRecord<Workflow>,
  ref: string,
  inputs: { [name: string]: string },
  actor: User,
): StartRun {
  const name = ref.replace(/^refs\/(?:heads|tags)\//, '')
  const full = repository.record.branches.has(name)
    ? `refs/heads/${name}`
    : repository.record.tags.has(name)
      ? `refs/tags/${name}`
      : null
  if (full === null) throw noSuchRef(ref)
  if (!workflow.definition.on.includes('workflow_dispatch')) throw noDispatchTrigger()
  if (workflow.state !== 'active') throw disabledWorkflow()
  const declared = workflow.definition.inputs ?? {}
  const unexpected = Object.keys(inputs).filter(input => !(input in declared))
  if (unexpected.length > 0) throw unexpectedInputs(unexpected)
  for (const [input, { required, default: fallback }] of Object.entries(declared)) {
    if (required && fallback === undefined && !(input in inputs)) throw missingInput(input)
  }
  const defaults = Object.fromEntries(Object.entries(declared).map(([input, one]) => [input, one.default ?? '']))
  return { event: 'workflow_dispatch', actor, ref: full, inputs: { ...defaults, ...inputs } }
}
