import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, mebibyte, useRoom } from './support.ts'

describeEngines('limits of a container', one => {
  const room = useRoom(one)

  it('stops a fork bomb at pidsLimit', async () => {
    const said = await attempts(room, [['bomb', '10000']], { pidsLimit: 16 })
    // Two of the sixteen are the first process and the one that forks.
    expect(said).toEqual({ 'bomb 10000': '14 EAGAIN' })
  })

  it('case 25: ends what allocates past memoryLimitBytes, and says that it was memory', async () => {
    const { end, stdout, controls } = await room.probe(['allocate', String(256 * mebibyte)])
    expect({ end, stdout, memoryRanOut: controls.memoryRanOut }).toEqual({
      end: { kind: 'limit_exceeded', limit: 'memory', amount: 64 * mebibyte },
      stdout: '',
      memoryRanOut: true,
    })
  })

  it('lets it have what is within the limit', async () => {
    const { end, stdout, controls } = await room.probe(['allocate', String(40 * mebibyte)])
    expect({ end, stdout, memoryRanOut: controls.memoryRanOut }).toEqual({
      end: { kind: 'exited', code: 0 },
      stdout: 'ok\n',
      memoryRanOut: false,
    })
  })

  it('counts the death of a child by memory to a process that goes on as what it is: it ended by itself, noted', async () => {
    const { end, controls } = await room.probe(['each', 'allocate', String(256 * mebibyte)])
    expect({ end, memoryRanOut: controls.memoryRanOut }).toEqual({
      end: { kind: 'exited', code: 0 },
      memoryRanOut: true,
    })
  })

  it('counts /tmp as memory, so that neither gets past the limit by the other', async () => {
    const script = `/bin/probe fill /tmp/a ${15 * mebibyte}; exec /bin/probe allocate ${12 * mebibyte}`
    const { end } = await room.probe(['-c', script], { command: '/bin/sh', memoryLimitBytes: 24 * mebibyte })
    expect(end).toEqual({ kind: 'limit_exceeded', limit: 'memory', amount: 24 * mebibyte })
  })

  it('gives it its share of the processors and no more', async () => {
    const { end, stdout } = await room.probe(['burn', '3', '4'], { cpuLimitMillis: 250 })
    expect(end).toEqual({ kind: 'exited', code: 0 })
    const [cpu = 0, wall = 0] = stdout.trim().split(' ').map(Number)
    // A period is one second: at most one more quota than whole periods is spent, and a tick of each processor beyond.
    expect(cpu).toBeLessThanOrEqual(0.25 * (Math.ceil(wall) + 1) + 0.1)
    expect(cpu).toBeGreaterThan(0)
  })

  // The runtime that starts the program lives within the quota too: a thousandth of a processor takes it a quarter of a minute.
  it('runs at the bound of one thousandth of a processor', { timeout: 240_000 }, async () => {
    const { end } = await room.probe(['exit', '0'], { cpuLimitMillis: 1, timeoutSeconds: 120 })
    expect(end).toEqual({ kind: 'exited', code: 0 })
  })

  it.each([9, 10, 64_000])('runs at the bound of %i thousandths of a processor', async cpuLimitMillis => {
    const { end } = await room.probe(['exit', '0'], { cpuLimitMillis })
    expect(end).toEqual({ kind: 'exited', code: 0 })
  })

  it('runs at the bounds of memory and of processes', async () => {
    const least = await room.probe(['exit', '0'], { memoryLimitBytes: 16 * mebibyte, pidsLimit: 1 })
    expect(least.end).toEqual({ kind: 'exited', code: 0 })
    const most = await room.probe(['exit', '0'], { memoryLimitBytes: 16_384 * mebibyte, pidsLimit: 4_096 })
    expect(most.end).toEqual({ kind: 'exited', code: 0 })
  })

  it('bounds its open files', async () => {
    const [count, errno] = (Object.values(await attempts(room, [['descriptors', '2000000']]))[0] ?? '').split(' ')
    expect(errno).toBe('EMFILE')
    expect(Number(count)).toBeLessThan(4_096)
  })

  it('ends one that prints a GiB at its output limit, exactly', async () => {
    const { end, captured } = await room.probe(['flood', String(1_024 * mebibyte)])
    expect(end).toEqual({ kind: 'output_exceeded', stream: 'stdout', limitBytes: mebibyte })
    expect(captured.stdout.length).toBe(mebibyte)
  })

  it('keeps nothing of what is printed on the disk of the host', async () => {
    const bytes = 8 * mebibyte
    const startedAt = new Date(Date.now() - 1_000).toISOString()
    const largest = () => {
      const found = execFileSync('find', [one.engine.dataRoot, '-type', 'f', '-newermt', startedAt, '-size', '+1024k'])
      return found.toString()
    }
    let seen = 0
    let files = 'never looked'
    const limits = { stdout: 9 * mebibyte, stderr: mebibyte, combined: 10 * mebibyte }
    const running = await room.start(['-c', `/bin/probe flood ${bytes}; exec /bin/probe stubborn`], {
      command: '/bin/sh',
      limits,
      onOutput(_stream, chunk) {
        seen += chunk.length
        // The last one is of the program that stays, so the container is there while it is looked at.
        if (seen <= bytes) return
        files = largest()
        void running.kill('seen enough')
      },
    })
    const { end } = await running.wait
    expect({ kind: end.kind, files }).toEqual({ kind: 'cancelled', files: '' })
  })

  it.each([
    ['stdout', [1_000, 0], 'exited'],
    ['stdout', [1_001, 0], 'output_exceeded'],
    ['stderr', [0, 2_000], 'exited'],
    ['stderr', [0, 2_001], 'output_exceeded'],
    ['combined', [1_000, 1_500], 'exited'],
    ['combined', [1_000, 1_501], 'output_exceeded'],
  ] as const)('takes exactly the bytes of the %s limit: %j is %s', async (stream, [out, err], kind) => {
    const limits = { stdout: 1_000, stderr: 2_000, combined: 2_500 }
    const { end, captured } = await room.probe(['both', String(out), String(err), '7'], { limits })
    const { stdout, stderr } = captured
    expect(end.kind).toBe(kind)
    if (end.kind === 'output_exceeded') expect(end).toEqual({ kind, stream, limitBytes: limits[stream] })
    else expect([stdout.length, stderr.length]).toEqual([out, err])
    const kept = stream === 'combined' ? stdout.length + stderr.length : captured[stream].length
    expect(kept).toBe(limits[stream])
    expect(Buffer.from(stdout).toString()).toBe('o'.repeat(stdout.length))
    expect(Buffer.from(stderr).toString()).toBe('e'.repeat(stderr.length))
  })
})
