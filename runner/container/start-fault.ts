import { describeError } from '../../policy/redact.ts'
import { ExecutorError, type ProcessEnd } from '../executor.ts'
import type { ContainerProcess } from './container.ts'
import { EngineFault } from './engine.ts'

/** Why a container was not started, of what an engine answered: nothing of the command has run. */
export function startFault(
  step: string,
  error: unknown,
  { command, image, engine, cwd }: Pick<ContainerProcess, 'command' | 'image' | 'engine' | 'cwd'>,
): ProcessEnd {
  const failed = (code: string, message: string): ProcessEnd => ({ kind: 'spawn_failed', code, message })
  if (error instanceof ExecutorError) return failed(error.code, error.message)
  const text = describeError(error)
  const status = error instanceof EngineFault ? error.status : null
  const lower = text.toLowerCase()
  if (step === 'create' && status === 404)
    return failed('image_absent', `image ${image.reference} is no longer on ${engine.kind}; nothing is ever pulled`)
  if (lower.includes('bind source path does not exist') || lower.includes(`stat ${cwd.path}`.toLowerCase()))
    return failed('engine_elsewhere', `${engine.kind} at ${engine.address} does not see the directory ${cwd.path}`)
  const isExec = lower.includes('exec') && status !== null
  if (isExec && (lower.includes('not found') || lower.includes('no such file')))
    return failed('ENOENT', `${JSON.stringify(command)} is not in the image ${image.reference}`)
  if (isExec && lower.includes('permission denied'))
    return failed(
      'EACCES',
      `${JSON.stringify(command)} of the image ${image.reference} may not be executed by user 65532`,
    )
  if (isExec && lower.includes('exec format error'))
    return failed('ENOEXEC', `${JSON.stringify(command)} of the image ${image.reference} is not for this machine`)
  return failed('container_failed', `${engine.kind} could not ${step} the container: ${text}`)
}
