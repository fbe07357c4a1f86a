import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { type Engine, findEngine } from '../../../runner/container/container.ts'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, useRoom } from './support.ts'

describeEngines('the directory that a container sees', one => {
  const room = useRoom(one)

  /** The engine, with something that happens on the host around its start. */
  async function around(before: () => void, after = () => {}): Promise<Engine> {
    const { engine } = await findEngine(one.engine.kind, one.busybox.reference, one.engine.env)
    return {
      ...engine,
      async start(id) {
        before()
        await engine.start(id)
        after()
      },
    }
  }

  it.each(['a link to /etc', 'another directory', 'nothing'])(
    'is never another one: swapped for %s after the create',
    async what => {
      const cwd = room.file('cwd')
      mkdirSync(cwd)
      const engine = await around(() => {
        renameSync(cwd, room.file('moved'))
        if (what === 'a link to /etc') symlinkSync('/etc', cwd)
        if (what === 'another directory') mkdirSync(cwd)
      })
      const { end, stdout } = await room.probe(['show', '/workspace/passwd'], { cwd, engine })
      expect(end.kind).toBe('spawn_failed')
      expect(stdout).not.toContain('root')
    },
  )

  it('is never another one: swapped while the engine starts it, and back before anybody can look', async () => {
    const cwd = room.file('cwd')
    mkdirSync(cwd)
    const engine = await around(
      () => {
        renameSync(cwd, room.file('moved'))
        symlinkSync('/etc', cwd)
      },
      () => {
        rmSync(cwd)
        renameSync(room.file('moved'), cwd)
      },
    )
    const { end } = await room.probe(['stubborn'], { cwd, engine })
    expect(end.kind).toBe('spawn_failed')
  })

  it('shows nothing of what is mounted below it', async () => {
    mkdirSync(room.file('nested'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', room.file('nested')])
    onTestFinished(() => void execFileSync('umount', ['-l', room.file('nested')]))
    writeFileSync(room.file('nested/secret'), 'secret')
    const said = await attempts(room, [
      ['read', '/workspace/nested/secret'],
      ['write', '/workspace/nested/x'],
    ])
    expect(said).toEqual({ 'read /workspace/nested/secret': 'ENOENT', 'write /workspace/nested/x': 'EROFS' })
  })

  it('takes a name with every character that an engine might read as an option', async () => {
    const cwd = room.file('a:b,ro=false "c" \\d ü\n')
    mkdirSync(cwd)
    writeFileSync(`${cwd}/input`, 'given')
    const { end, stdout } = await room.probe(['show', '/workspace/input'], { cwd })
    if (end.kind === 'exited') expect(stdout).toBe('given')
    else expect(end.kind).toBe('spawn_failed')
  })
})
