import type { Json } from '../../policy/json.ts'
import type { Containment, EffectResult, ProcessEnd } from '../executor.ts'

/**
 * How each end of a process counts: what is definite may be retried where that is safe, the rest is uncertain. `left` are
 * processes of it that could not be ended; beside those nothing is repeated.
 */
export function resultOfEnd(
  end: ProcessEnd,
  output: Json,
  retrySafe: boolean,
  left: Containment['left'] = [],
): EffectResult {
  const wasEnded = left.length === 0 ? 'was ended' : `could not be ended whole (still there: ${named(left)})`
  const failed = (code: string, message: string) => ({
    kind: 'failed' as const,
    code,
    message,
    output,
    retrySafe: retrySafe && left.length === 0,
  })
  const uncertain = (code: string, message: string): EffectResult => ({ kind: 'uncertain', code, message, output })
  switch (end.kind) {
    case 'exited':
      if (end.code === 0) return { kind: 'succeeded', output, artifacts: [] }
      return failed('non_zero_exit', `the process exited with code ${end.code}`)
    case 'signalled':
      return failed(
        'signalled',
        `the process was ended by ${end.signal}${end.signal === 'SIGKILL' ? ' (possibly memory)' : ''}`,
      )
    case 'spawn_failed':
      return failed(spawnCode(end.code), `the process could not be started: ${end.message}`)
    case 'output_exceeded':
      if (end.byBudget) return { ...failed('budget_exceeded', budgetText(end.limitBytes, wasEnded)), retrySafe: false }
      return failed(
        'output_exceeded',
        `${end.stream} went beyond ${end.limitBytes} bytes and the process ${wasEnded}; raise ${limitField(end.stream)} or print less`,
      )
    case 'limit_exceeded':
      return failed('limit_exceeded', `the process reached its ${end.limit} limit of ${end.amount}`)
    case 'timed_out':
      return uncertain(
        'timed_out',
        `the process ran longer than ${wholeSeconds(end.seconds)} and ${wasEnded}; what it had done by then is not known`,
      )
    case 'cancelled':
      return uncertain('cancelled', `the process ${wasEnded} (${end.reason}); what it had done by then is not known`)
    case 'lost':
      return uncertain('lost', `${end.message}; what it did is not known`)
  }
}

/** Of an action's time a later process has what the earlier ones left, to the microsecond: nobody reads that. */
function wholeSeconds(seconds: number): string {
  return seconds < 1 ? 'the less than 1 s that was left' : `${Math.floor(seconds)} s`
}

function spawnCode(code: string): string {
  const codes: { [code: string]: string } = {
    ENOENT: 'command_not_found',
    EACCES: 'command_not_executable',
    ENOEXEC: 'command_not_executable',
    E2BIG: 'argv_too_long',
    inherited_descriptor: 'inherited_descriptor',
    containment_failed: 'containment_failed',
    cwd_changed: 'cwd_changed',
    nested_mount: 'nested_mount',
    control_not_in_force: 'control_not_in_force',
    image_absent: 'image_absent',
    engine_elsewhere: 'engine_elsewhere',
    container_failed: 'container_failed',
  }
  return codes[code] ?? 'spawn_failed'
}

function budgetText(left: number, wasEnded: string): string {
  const remedy = 'raise spec.runtime.budgets.maxProcessOutputBytes or print less'
  return `the process printed more than the ${left} bytes that the run's budget had left and ${wasEnded}; ${remedy}`
}

function limitField(stream: 'stdout' | 'stderr' | 'combined'): string {
  return stream === 'combined' ? 'combinedOutputLimitBytes' : `${stream}LimitBytes`
}

function named(left: Containment['left']): string {
  return left.map(({ pid, command }) => `${command} (${pid})`).join(', ')
}
