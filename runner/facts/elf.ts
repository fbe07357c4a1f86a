import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { CommandFault } from './command-fault.ts'

/** Bytes of the header that every binary of this system has, and where its fields are (ELF-64, little endian). */
const headerBytes = 64
const programHeaderBytes = 56
const PT_INTERP = 3
/** Longest path of a dynamic loader that the kernel takes. */
const maxInterpBytes = 4_096

let own: Buffer | null = null

/**
 * Refuses an ELF file that the kernel would refuse as ENOEXEC (`load_elf_binary` in fs/binfmt_elf.c): the C library would
 * then hand it to a shell. So also one of another architecture, which an emulator might run. Throws CommandFault.
 */
export function checkElf(fd: number, realPath: string): void {
  const why = elfFault(fd)
  if (why === null) return
  throw new CommandFault(
    'command_not_executable',
    `${realPath} is no binary of this system (${why})`,
    'name one that is, no shell is tried',
  )
}

function elfFault(fd: number): string | null {
  const head = readAt(fd, 0, headerBytes)
  own ??= ownHeader()
  if (head === null) return 'its header is cut'
  if (head[4] !== own[4] || head[5] !== own[5] || head.readUInt16LE(18) !== own.readUInt16LE(18))
    return 'it is of another architecture'
  if (head.readUInt16LE(16) !== 2 && head.readUInt16LE(16) !== 3) return 'it is not a program'
  const count = head.readUInt16LE(56)
  if (head.readUInt16LE(54) !== programHeaderBytes || count === 0) return 'it has no program headers'
  const size = fstatSync(fd).size
  const table = readAt(fd, Number(head.readBigUInt64LE(32)), count * programHeaderBytes)
  if (table === null) return 'its program headers are cut'
  for (let at = 0; at < table.length; at += programHeaderBytes) {
    if (table.readUInt32LE(at) !== PT_INTERP) continue
    const [offset, length] = [Number(table.readBigUInt64LE(at + 8)), Number(table.readBigUInt64LE(at + 32))]
    if (length < 2 || length > maxInterpBytes || offset + length > size) return 'its loader is not named rightly'
    if (readAt(fd, offset + length - 1, 1)?.[0] !== 0) return 'its loader is not named rightly'
    if (readAt(fd, offset, 1)?.[0] !== 0x2f) return 'its loader is another file in each working directory'
  }
  return null
}

/** Absolute path of the dynamic loader that the system runs an ELF file with, of one that `checkElf` took; null for none. */
export function loaderOf(fd: number): string | null {
  const head = readAt(fd, 0, headerBytes)
  if (head?.toString('latin1', 0, 4) !== '\x7fELF') return null
  const table = readAt(fd, Number(head.readBigUInt64LE(32)), head.readUInt16LE(56) * programHeaderBytes)
  for (let at = 0; table !== null && at < table.length; at += programHeaderBytes) {
    if (table.readUInt32LE(at) !== PT_INTERP) continue
    const name = readAt(fd, Number(table.readBigUInt64LE(at + 8)), Number(table.readBigUInt64LE(at + 32)))
    return name?.toString('utf8', 0, name.indexOf(0)) ?? null
  }
  return null
}

function ownHeader(): Buffer {
  const fd = openSync(process.execPath, 'r')
  try {
    return readAt(fd, 0, headerBytes) ?? Buffer.alloc(headerBytes)
  } finally {
    closeSync(fd)
  }
}

/** null where the file has not that much. */
function readAt(fd: number, position: number, length: number): Buffer | null {
  if (!Number.isSafeInteger(position)) return null
  const bytes = Buffer.alloc(length)
  return readSync(fd, bytes, 0, length, position) === length ? bytes : null
}
