import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { refuseDoors } from '../../runner/container/doors.ts'
import { closeDirectory, openDirectory } from '../../runner/facts/directory.ts'

let room = ''
beforeEach(() => {
  room = mkdtempSync('/tmp/agentctl-doors-')
  chmodSync(room, 0o755)
})
afterEach(() => rmSync(room, { recursive: true, force: true }))

const odd = (name: string) => Buffer.concat([Buffer.from(`${room}/`), Buffer.from(name, 'latin1')])
const refused = () => {
  const cwd = openDirectory(room)
  try {
    refuseDoors(cwd)
    return 'none'
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : String(error)
  } finally {
    closeDirectory(cwd)
  }
}

it.each(['\xfe', 'a\nb', '\xc3', 'caf\xe9/inside', '\xff\xff/\xfe'])('a FIFO by the name %j is found', name => {
  const parts = name.split('/')
  if (parts.length === 2) mkdirSync(odd(parts[0] ?? ''), { mode: 0o755 })
  expect(refused()).toBe('none')
  // Names that are no UTF-8 cannot be said to mkfifo by Node's spawn.
  const octal = [...odd(name)].map(byte => `\\0${byte.toString(8).padStart(3, '0')}`).join('')
  execFileSync('sh', ['-c', `place=$(printf '%b' '${octal}'); mkfifo "$place"; chmod 666 "$place"`])
  expect(refused()).toBe('open_door')
})
