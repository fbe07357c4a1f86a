import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { armHost } from '../../runner/process/arm.ts'
import type { ArmedHost } from '../../runner/process/containment/armed-host.ts'
import { launch, openRoom, type Room } from './support.ts'

/** What the kernel refuses to load the C library would give to /bin/sh, which reads this as a script. */
const witness = (room: Room) => `\necho ran > ${room.file('witness')}\n`

describe('direct arguments, no shell: a file that looks like a binary and is none', () => {
  let room: Room
  let armed: ArmedHost
  beforeEach(() => {
    room = openRoom('best-effort')
    armed = armHost(room.options)
  })
  afterEach(() => {
    expect(existsSync(room.file('witness'))).toBe(false)
    armed.close()
    room.remove()
  })

  /** A true binary with bytes of its header changed. */
  const changed = (at: number, bytes: number[]) => (): Buffer => {
    const binary = readFileSync('/bin/true')
    binary.set(bytes, at)
    return binary
  }

  test.each([
    ['the magic alone', () => Buffer.from('\x7fELF')],
    ['a header that is cut', () => readFileSync('/bin/true').subarray(0, 40)],
    ['another architecture', changed(18, [0xf3, 0])],
    ['32 bits', changed(4, [1])],
    ['an object file', changed(16, [1, 0])],
    ['no program headers', changed(56, [0, 0])],
    ['program headers beyond the end', changed(32, [0, 0, 0, 0x70, 0, 0, 0, 0])],
  ])('%s: refused by name before anything is requested', (_, make) => {
    const place = room.script('tool', '')
    writeFileSync(place, Buffer.concat([make(), Buffer.from(witness(room))]))
    expect(() => launch(room, armed, { command: place })).toThrow(/tool is no binary of this system/)
  })

  test('also as the interpreter of a script', () => {
    const interpreter = room.script('interpreter', '\x7fELF')
    const script = room.script('script', `#!${interpreter}${witness(room)}`)
    expect(() => launch(room, armed, { command: script })).toThrow(/interpreter is no binary of this system/)
  })

  test('a true binary runs, wherever it lies', async () => {
    const place = room.script('tool', '')
    copyFileSync('/bin/true', place)
    expect((await launch(room, armed, { command: place }).wait).end).toEqual({ kind: 'exited', code: 0 })
  })
})
