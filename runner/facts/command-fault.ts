import { codeOf } from './unknown.ts'

/** A command that names nothing that can be run: a named, definite reason. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** What a system error about one place on the way to a command means. */
export function commandFault(error: unknown, command: string, place: string): CommandFault {
  const code = codeOf(error)
  const subject = `command ${JSON.stringify(command)}: ${place}`
  if (code === 'ENOENT' || code === 'ENOTDIR') return new CommandFault('command_not_found', `${subject} does not exist`)
  if (code === 'EACCES' || code === 'EPERM')
    return new CommandFault(
      'command_not_executable',
      `${subject} may not be read, so it cannot be pinned by its digest; let agentctl's user read it`,
    )
  return new CommandFault('command_not_found', `${subject} could not be opened (${code})`)
}
