import type { PlanExtension } from '../../policy/document/plan.ts'
import { loadJsonSchemas } from '../../policy/json-schema/load.ts'
import { type ExecutionRequest, type Executor, ExecutorError } from '../executor.ts'
import type { Host } from '../host.ts'
import { prepareProcess } from '../process/prepare.ts'
import { checkInput } from '../schemas.ts'
import { runExtension } from './run.ts'

/**
 * extension.process: a handshake that must equal the declaration, then one invocation, both bounded processes within one
 * effect, of the host (not a sandbox) or each in a container. No code of the extension runs before its decision.
 */
export function extensionExecutor(host: Host): Executor {
  return {
    kinds: ['extension.process'],
    async prepare(request) {
      const extension = declarationOf(request)
      const schemas = await loadJsonSchemas()
      await checkInput(request.task.action, request.input)
      const { protocolVersion, capabilities } = extension
      return await prepareProcess(host, request, {
        shown: { extension: { protocolVersion, capabilities } },
        start: (ready, signal) => runExtension(ready, extension, schemas, signal),
      })
    },
  }
}

function declarationOf({ task: { action } }: ExecutionRequest): PlanExtension {
  if (action.extension !== undefined) return action.extension
  throw new ExecutorError(
    'invalid_plan',
    `action ${action.name} of the plan does not declare its extension; start a new run`,
  )
}
