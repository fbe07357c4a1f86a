import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('what a container is given', one => {
  const room = useRoom(one)

  it('hands every argument on as it is, and none to the engine', async () => {
    const given = [
      '--privileged',
      '-v',
      '/:/host',
      '--',
      '',
      '--user=0',
      'a\nb',
      "'; id #",
      '$HOME',
      '{{.Id}}',
      'ü😀',
      '-',
      '"',
      ' ',
    ]
    const { end, stdout } = await room.probe(['words', ...given])
    expect(end).toEqual({ kind: 'exited', code: 0 })
    const read = stdout
      .split('\n')
      .slice(0, -1)
      .map(line => Buffer.from(line, 'hex').toString())
    expect(read).toEqual(given)
    expect(existsSync('/host')).toBe(false)
  })

  it('never hands on a text that is no UTF-8 as something else than the replacement', async () => {
    const { end, stdout } = await room.probe(['words', 'a\ud800b'])
    if (end.kind === 'exited') expect(Buffer.from(stdout.trim(), 'hex').toString()).toBe('a\ufffdb')
    else expect(end.kind).toBe('spawn_failed')
  })

  it('refuses an argument with a NUL, which would end it early', async () => {
    const { end } = await room.probe(['words', 'a\0b'])
    expect(end.kind).toBe('spawn_failed')
  })

  it('gives the declared variables with HOME, HOSTNAME and PATH, and nothing else', async () => {
    const declared = { EMPTY: '', TOKEN: 'line one\nline two', EQUALS: 'a=b=c', UMLAUT: 'ü', DOLLAR: '$PATH' }
    const { stdout } = await room.probe(['variables'], { environment: declared })
    const read = Object.fromEntries(
      stdout
        .split('\0')
        .slice(0, -1)
        .map(entry => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    )
    expect(read).toEqual({ ...declared, PATH: '/bin', HOME: expect.any(String), HOSTNAME: expect.any(String) })
  })

  it.each(['A=B', '', 'A\0B', '='])('refuses the variable name %j', async name => {
    const { end, stdout } = await room.probe(['variables'], { environment: { [name]: 'value' } })
    expect(end.kind).toBe('spawn_failed')
    expect(stdout).toBe('')
  })

  it('shows the value of a variable in no command line of the host', async () => {
    const secret = `secret-${process.pid}-${Math.random()}`
    let lines: string[] = []
    const running = await room.start(['stubborn'], {
      environment: { TOKEN: secret },
      onOutput() {
        lines = commandLines()
        void running.kill('seen')
      },
    })
    await running.wait
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter(line => line.includes(secret))).toEqual([])
  })
})

function commandLines(): string[] {
  return readdirSync('/proc').flatMap(pid => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : []
    } catch {
      return []
    }
  })
}
