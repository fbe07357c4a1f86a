import { expect, it } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('the end of a container', one => {
  const room = useRoom(one)

  it('reports each exit code as it is', async () => {
    const codes = [0, 1, 2, 42, 125, 126, 127, 128, 137, 139, 255]
    const outcomes = await Promise.all(codes.map(code => room.probe(['exit', String(code)])))
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(codes)
    const ends = outcomes.map(({ end }) => (end.kind === 'exited' ? end.code : end.kind))
    // 137 is also what an engine says of a process that SIGKILL ended, and is never told as a success.
    const words = codes.map(code => (code === 137 ? expect.toBeOneOf([137, 'signalled']) : code))
    expect(ends).toEqual(words)
  })

  it('times out one that ignores every signal', async () => {
    const { end, stdout } = await room.probe(['stubborn'], { timeoutSeconds: 1 })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
    expect(stdout).toBe('+')
  })

  it('cancels one that ignores every signal, by its signal and by kill', async () => {
    const cancelled = new AbortController()
    const bySignal = await room.start(['stubborn'], {
      signal: cancelled.signal,
      onOutput: () => cancelled.abort(new Error('a person said so')),
    })
    expect((await bySignal.wait).end).toEqual({ kind: 'cancelled', reason: 'a person said so' })
    const heard = Promise.withResolvers<void>()
    const byKill = await room.start(['stubborn'], { onOutput: () => heard.resolve() })
    await heard.promise
    await byKill.kill('the job ends')
    expect((await byKill.wait).end).toEqual({ kind: 'cancelled', reason: 'the job ends' })
  })

  it('starts nothing that was cancelled before', async () => {
    const { end, stdout } = await room.probe(['words', 'ran'], { signal: AbortSignal.abort(new Error('too late')) })
    expect({ end, stdout }).toEqual({ end: { kind: 'cancelled', reason: 'too late' }, stdout: '' })
  })

  it('ends with its first process, whatever session that leaves behind with both streams open', async () => {
    const { end, stdout } = await room.probe(['daemonise', '7'])
    expect({ end, stdout }).toEqual({ end: { kind: 'exited', code: 7 }, stdout: '+' })
  })

  it('case 22: waits for one that is silent, past every look at it', async () => {
    const { end } = await room.probe(['6'], { command: '/bin/sleep' })
    expect(end).toEqual({ kind: 'exited', code: 0 })
  })

  it('tells a missing command, a directory and a file that is no program apart from one that ran', async () => {
    for (const command of ['/bin/absent', '/etc', '/etc/passwd', 'absent']) {
      const { end, stdout } = await room.probe([], { command })
      expect(end.kind, command).toBe('spawn_failed')
      expect(stdout).toBe('')
    }
  })

  it('hands stdin over to its end, however long it is', async () => {
    const stdin = Buffer.alloc(300_000, 'abcdefg')
    const { end, captured } = await room.probe(['stdin'], { stdin })
    expect(end).toEqual({ kind: 'exited', code: 0 })
    expect(Buffer.compare(Buffer.from(captured.stdout), stdin)).toBe(0)
    expect((await room.probe(['stdin'])).stdout).toBe('')
    expect((await room.probe(['exit', '3'], { stdin })).end).toEqual({ kind: 'exited', code: 3 })
  })
})
