import { codeOf } from './unknown.ts'

/** A command that names nothing that can be run: a named, definite reason. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault'
  readonly code: CommandFaultCode
  /** The message without its remedy. */
  readonly detail: string
  constructor(code: CommandFaultCode, detail: string, remedy: string = remedies[code]) {
    super(`${detail}; ${remedy}`)
    this.code = code
    this.detail = detail
  }
}

export type CommandFaultCode = keyof typeof remedies

const remedies = {
  command_not_found: 'install the program, or correct the command',
  command_is_directory: 'name a program',
  command_not_executable: 'make it a program that this host can run',
  bad_interpreter: 'correct its first line',
} as const

/** What a system error about one place on the way to a command means. */
export function commandFault(error: unknown, command: string, place: string): CommandFault {
  const code = codeOf(error)
  const subject = `command ${JSON.stringify(command)}: ${place}`
  if (code === 'ENOENT' || code === 'ENOTDIR') return new CommandFault('command_not_found', `${subject} does not exist`)
  if (code === 'EACCES' || code === 'EPERM')
    return new CommandFault(
      'command_not_executable',
      `${subject} may not be read, so it cannot be pinned by its digest`,
      "let agentctl's user read it",
    )
  return new CommandFault('command_not_found', `${subject} could not be opened (${code})`)
}
