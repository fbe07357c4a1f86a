import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadNative } from '../../runner/native/linux.ts'
import { NativeError, type SpawnRequest } from '../../runner/native/native.ts'

const isHere = process.platform === 'linux'

describe.runIf(isHere)('a program started by the native layer', () => {
  let directory: string
  const opened: number[] = []
  const open = (place: string) => {
    const fd = openSync(place, 'r')
    opened.push(fd)
    return fd
  }
  const file = (name: string, content: string, mode = 0o755) => {
    const place = path.join(directory, name)
    writeFileSync(place, content)
    chmodSync(place, mode)
    return place
  }

  beforeEach(() => {
    directory = realpathSync(mkdtempSync(path.join(tmpdir(), 'agentctl-spawn-')))
  })
  afterEach(() => {
    for (const fd of opened.splice(0)) closeSync(fd)
    rmSync(directory, { recursive: true, force: true })
  })

  const shell = `cd .; pwd; cat; read -r line <&3; echo "$line $0 $1 <$NAME>"; ls /proc/self/fd | tr '\\n' ' '; grep -E '^Sig(Blk|Ign)' /proc/self/status; exit 7`

  /** Its sources lie where the program's own descriptors will: each would overwrite another that is still to be copied. */
  test.each([
    ['a binary', false],
    ['a script', true],
  ])(
    '%s gets the right descriptors from sources among their numbers and the directory that was opened, and nothing else',
    async (_, isScript) => {
      const [cwd, moved] = [path.join(directory, 'cwd'), path.join(directory, 'moved')]
      mkdirSync(cwd)
      const looked = open(cwd)
      // Another directory takes its place after it was looked at.
      renameSync(cwd, moved)
      mkdirSync(cwd)
      const script = file('script', `#!/bin/sh\n${shell}\n`)
      const input = file('input', 'read as 0\n')
      const marker = file('marker', 'marked\n')
      const order: Order = {
        request: {
          program: 3,
          isScript,
          argv: isScript ? ['name', 'one'] : ['name', '-c', shell, 'name', 'one'],
          environment: ['NAME=a=b c'],
          cwd: 5,
          descriptors: [6, 1, 2, 4],
        },
      }
      const child = start(order, [open(isScript ? script : '/bin/sh'), open(marker), looked, open(input)])
      const [output, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
      expect(errors).toBe('')
      const name = isScript ? '/proc/self/fd/4' : 'name'
      expect(output.split('\n')).toEqual([
        moved,
        'read as 0',
        `marked ${name} one <a=b c>`,
        // The last is `ls` itself reading the directory.
        isScript ? '0 1 2 3 4 5 SigBlk:\t0000000000000000' : '0 1 2 3 4 SigBlk:\t0000000000000000',
        'SigIgn:\t0000000000000000',
        JSON.stringify({ end: { code: 7 } }),
        '',
      ])
    },
  )

  test('what is not a program is told by the code of the system, and nothing is left to be waited for', async () => {
    const layer = loadNative()
    if ('absent' in layer) throw new Error(layer.absent)
    const { native } = layer
    const tried = (place: string, isScript = false, argument = 'x') => {
      const request = { program: open(place), isScript, argv: ['name', argument], environment: [], cwd: open('/') }
      try {
        return native.spawn({ ...request, descriptors: [null, null, null, null] })
      } catch (error) {
        return error instanceof NativeError ? error.code : error
      }
    }
    expect(tried(file('text', 'echo no shell runs this\n'))).toBe('ENOEXEC')
    expect(tried(file('not-executable', '#!/bin/sh\n', 0o644), true)).toBe('EACCES')
    expect(tried(file('no-interpreter', '#!/nowhere\n'), true)).toBe('ENOENT')
    expect(tried('/bin/true', false, 'x'.repeat(4 * 1024 * 1024))).toBe('E2BIG')
  })
})

interface Order {
  request: SpawnRequest
}

const textOf = (stream: Readable | null): Promise<string> => (stream === null ? Promise.resolve('') : text(stream))

/** A process of its own, which has the given descriptors as 3, 4 ... and starts one program with them. */
function start(order: Order, descriptors: number[]): ChildProcess {
  const program = path.join(import.meta.dirname, 'posix-spawn.program.ts')
  return spawn(process.execPath, [program, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe', ...descriptors],
  })
}
