import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Engine } from '../../../runner/container/container.ts'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('the directory that a container sees', one => {
  const room = useRoom(one)

  it.each(['a link to /etc', 'another directory', 'nothing'])(
    'is never another one: swapped for %s after the create',
    async what => {
      const cwd = room.file('cwd')
      mkdirSync(cwd)
      const beforeStart = async () => swap(cwd, what)
      const { end, stdout } = await room.probe(['words', 'ran'], { cwd, beforeStart })
      expect({ kind: end.kind, stdout }).toEqual({ kind: 'spawn_failed', stdout: '' })
    },
  )

  it.each([
    ['a link to /etc', 'stubborn'],
    ['another directory', 'stubborn'],
    ['a link to /etc', 'words'],
    ['another directory', 'words'],
  ])(
    'is never another one: swapped for %s at the moment of the start, with a program that is %s',
    async (what, program) => {
      const cwd = room.file('cwd')
      mkdirSync(cwd)
      const engine = await around(() => swap(cwd, what))
      const { end } = await room.probe([program], { cwd, engine })
      // On Docker it ran, on what it should not have seen: not a success, and not known to have done nothing.
      expect(end.kind).toBe(one.engine.kind === 'docker' ? 'lost' : 'spawn_failed')
    },
  )

  it('is never another one: swapped while the engine starts it, and back before anybody can look', async () => {
    const cwd = room.file('cwd')
    mkdirSync(cwd)
    const back = () => {
      rmSync(cwd)
      renameSync(`${cwd}-moved`, cwd)
    }
    const engine = await around(() => swap(cwd, 'a link to /etc'), back)
    const { end } = await room.probe(['stubborn'], { cwd, engine })
    expect(end.kind).toBe('lost')
  })

  it('is not forgotten to have been another one where the program ends by itself soon after', async () => {
    const cwd = room.file('cwd')
    mkdirSync(cwd)
    const back = () => {
      rmSync(cwd)
      renameSync(`${cwd}-moved`, cwd)
    }
    const engine = await around(() => swap(cwd, 'a link to /etc'), back)
    const { end } = await room.probe(['-c', 'sleep 0.4'], { cwd, engine, command: '/bin/sh' })
    expect(end.kind).toBe('lost')
  })

  it('shows nothing of what is mounted below it, or is not started where its runtime would', async () => {
    const nested = room.file('ne st\n\\ü')
    mkdirSync(nested)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', nested])
    try {
      writeFileSync(`${nested}/secret`, 'secret')
      if (!(await room.find()).engine.hidesNestedMounts) {
        const { end, stdout } = await room.probe(['words', 'ran'])
        expect({ end, stdout }).toMatchObject({ end: { kind: 'spawn_failed', code: 'nested_mount' }, stdout: '' })
        return
      }
      const script = 'cat "$1/secret"; touch "$1/x"; ls -A "$1"'
      const { stdout, stderr } = await room.probe(['-c', script, 'sh', '/workspace/ne st\n\\ü'], { command: '/bin/sh' })
      expect(stdout).toBe('')
      expect(stderr).toMatch(/secret': No such file[\s\S]*x: Read-only file system/)
    } finally {
      execFileSync('umount', ['-l', nested])
    }
  })

  it('is not started with a mount that is made below it after the create, where its runtime would show it', async () => {
    const nested = room.file('nested')
    mkdirSync(nested)
    try {
      const beforeStart = async () => void execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', nested])
      const { end } = await room.probe(['exit', '0'], { beforeStart })
      const refused = { kind: 'spawn_failed', code: 'nested_mount' }
      const { hidesNestedMounts } = (await room.find()).engine
      expect(end).toMatchObject(hidesNestedMounts ? { kind: 'exited', code: 0 } : refused)
    } finally {
      execFileSync('umount', ['-l', nested])
    }
  })

  it('takes a name with every character that an engine might read as an option', async () => {
    const cwd = room.file('a:b,ro=false "c" \\d ü\n')
    mkdirSync(cwd)
    writeFileSync(`${cwd}/input`, 'given')
    const { end, stdout } = await room.probe(['show', '/workspace/input'], { cwd })
    if (end.kind === 'exited') expect(stdout).toBe('given')
    else expect(end.kind).toBe('spawn_failed')
  })

  /**
   * The engine, with something that happens on the host around the call in which it mounts the directory: Docker's start,
   * Podman's attach. Everything that agentctl looks at before is over then.
   */
  async function around(before: () => void, after = () => {}): Promise<Engine> {
    const { engine } = await room.find()
    async function mount<T>(call: () => Promise<T>): Promise<T> {
      before()
      const answer = await call()
      after()
      return answer
    }
    if (engine.kind === 'docker') return { ...engine, start: id => mount(() => engine.start(id)) }
    return { ...engine, attach: (id, stdin) => mount(() => engine.attach(id, stdin)) }
  }
})

function swap(cwd: string, what: string): void {
  renameSync(cwd, `${cwd}-moved`)
  if (what === 'a link to /etc') symlinkSync('/etc', cwd)
  if (what === 'another directory') mkdirSync(cwd)
}
