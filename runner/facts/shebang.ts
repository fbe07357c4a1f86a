import { readSync } from 'node:fs'
import path from 'node:path'
import { CommandFault } from './command-fault.ts'
import { checkElf } from './elf.ts'

/** What a script's first line asks the system to run. */
export interface Shebang {
  /** Absolute path, as written. */
  interpreter: string
  /** Everything behind it: the kernel hands it over as one argument. Empty where there is none. */
  argument: string
}

/** The kernel reads this many bytes of a file before it decides how to run it, and cuts a longer first line. */
const headBytes = 256

/**
 * The `#!` line of an open program, null for a binary. What is neither is refused: the C library would hand it to a
 * shell. Throws CommandFault.
 */
export function readShebang(fd: number, realPath: string): Shebang | null {
  const head = Buffer.alloc(headBytes)
  const length = readSync(fd, head, 0, head.length, 0)
  if (head[0] !== 0x23 || head[1] !== 0x21) {
    const magic = head.toString('latin1', 0, Math.min(4, length))
    const binary = ['\x7fELF', '\xcf\xfa\xed\xfe', '\xca\xfe\xba\xbe'].includes(magic) || magic.startsWith('MZ')
    if (process.platform === 'linux' && magic === '\x7fELF') checkElf(fd, realPath)
    if (binary) return null
    throw new CommandFault(
      'command_not_executable',
      `${realPath} is neither a binary nor a script that begins with #!`,
      'write its interpreter there: no shell is tried',
    )
  }
  const line = textOf(head.subarray(2, length), realPath)
  // The kernel knows two blanks; anything else that looks like one belongs to the name.
  const [, interpreter = '', argument = ''] = /^[ \t]*([^ \t]*)[ \t]*(.*?)[ \t]*$/s.exec(line) ?? []
  if (!path.isAbsolute(interpreter))
    throw new CommandFault(
      'bad_interpreter',
      `${realPath} names the interpreter ${JSON.stringify(interpreter)}, which is another file in each working directory`,
      'write its absolute path',
    )
  return { interpreter, argument }
}

function textOf(bytes: Uint8Array, realPath: string): string {
  const refuse = (why: string) =>
    new CommandFault('bad_interpreter', `${realPath}: its #! line ${why}`, "write an interpreter's absolute path")
  const end = bytes.indexOf(0x0a)
  if (end < 0 && bytes.length === headBytes - 2)
    throw refuse(`is longer than ${headBytes} bytes, of which the system reads no more`)
  const line = end < 0 ? bytes : bytes.subarray(0, end)
  if (line.includes(0)) throw refuse('holds a NUL byte')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)
  } catch {
    throw refuse('is not UTF-8')
  }
}
