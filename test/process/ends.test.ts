import { existsSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadNative } from '../../runner/native/linux.ts'
import { armHost } from '../../runner/process/arm.ts'
import type { ArmedHost } from '../../runner/process/containment/armed-host.ts'
import { kinds, launch, openRoom, type Room, sh, tagged, textOf, until, zombies } from './support.ts'

describe.each(kinds)('held by %s', kind => {
  let room: Room
  let armed: ArmedHost
  beforeEach(() => {
    room = openRoom(kind)
    armed = armHost(room.options)
  })
  afterEach(() => {
    expect(tagged(room.tag)).toEqual([])
    expect(zombies()).toEqual([])
    armed.close()
    room.remove()
  })

  const run = (options: Parameters<typeof launch>[2]) => launch(room, armed, options).wait

  describe('every end of the contract', () => {
    test.each([0, 1, 2, 42, 125, 126, 127, 128, 137, 139, 255])('exited(%i) is told as it is', async code => {
      const result = await run(sh(`exit ${code}`))
      expect(result.end).toEqual({ kind: 'exited', code })
      expect(result.containment).toMatchObject({ containment: kind, left: [] })
    })

    test.each(['SIGKILL', 'SIGTERM', 'SIGSEGV', 'SIGHUP'])('signalled(%s)', async signal => {
      expect((await run(sh(`kill -${signal.slice(3)} $$`))).end).toEqual({ kind: 'signalled', signal })
    })

    test('spawn_failed, by the name that the system gives it', async () => {
      expect((await run(sh('true', 'x'.repeat(200_000)))).end).toMatchObject({ kind: 'spawn_failed', code: 'E2BIG' })
    })

    test('timed_out, with what was captured until then', async () => {
      const { end, captured } = await run({ ...sh('echo before; exec sleep 30'), timeoutSeconds: 1 })
      expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
      expect(textOf(captured.stdout)).toBe('before\n')
    })

    test('cancelled, by signal and by hand', async () => {
      const controller = new AbortController()
      const first = launch(room, armed, { ...sh('exec sleep 30'), signal: controller.signal })
      controller.abort(new Error('SIGHUP'))
      expect((await first.wait).end).toEqual({ kind: 'cancelled', reason: 'SIGHUP' })
      const second = launch(room, armed, sh('exec sleep 30'))
      await second.kill('no longer wanted')
      expect((await second.wait).end).toEqual({ kind: 'cancelled', reason: 'no longer wanted' })
      const already = launch(room, armed, { ...sh('exec sleep 30'), signal: controller.signal })
      expect((await already.wait).end).toEqual({ kind: 'cancelled', reason: 'SIGHUP' })
    })

    test('lost, where somebody else took the exit code', async () => {
      const layer = loadNative()
      if ('absent' in layer) throw new Error(layer.absent)
      const pid = room.file('pid')
      const running = launch(room, armed, sh('echo $$ > "$1.new"; mv "$1.new" "$1"; sleep 0.2', pid))
      await until('its pid', () => existsSync(pid))
      const main = Number(readFileSync(pid, 'utf8'))
      // Taken before Node's own turn comes: this loop leaves it none.
      while (!layer.native.reap(main));
      expect((await running.wait).end).toMatchObject({ kind: 'lost' })
    })
  })

  describe('bounded concurrent output capture', () => {
    const printing = (stdout: number, stderr: number) =>
      sh(`head -c ${stdout} /dev/zero; head -c ${stderr} /dev/zero >&2; sleep 0.1`)
    const limits = { stdout: 1_000, stderr: 700, combined: 1_500 }

    test.each([
      ['stdout', 1_000, 0],
      ['stderr', 0, 700],
      ['combined', 800, 700],
    ] as const)('%s: N bytes pass at a limit of N, N+1 ends it', async (stream, stdout, stderr) => {
      const exact = await run({ ...printing(stdout, stderr), limits })
      expect(exact.end).toEqual({ kind: 'exited', code: 0 })
      expect([exact.captured.stdout.length, exact.captured.stderr.length]).toEqual([stdout, stderr])
      const more = stream === 'stdout' ? printing(stdout + 1, stderr) : printing(stdout, stderr + 1)
      const wider = stream === 'combined' ? { ...limits, stderr: 2_000 } : limits
      const over = await run({ ...more, limits: wider })
      expect(over.end).toEqual({ kind: 'output_exceeded', stream, limitBytes: limits[stream] })
      expect([over.captured.stdout.length, over.captured.stderr.length]).toEqual([stdout, stderr])
    })

    test('N+1 kills the tree at once, whatever it does about SIGTERM', async () => {
      const began = performance.now()
      const { end } = await run({
        ...sh('trap "" TERM; (trap "" TERM; sleep 60) & head -c 1001 /dev/zero; sleep 60'),
        limits,
      })
      expect(end).toMatchObject({ kind: 'output_exceeded' })
      expect(performance.now() - began).toBeLessThan(10_000)
    })

    test.each(['stdout', 'stderr'] as const)('16 MiB on %s: all of it, and not a byte more', async stream => {
      const most = 16 * 1_048_576
      const to = stream === 'stdout' ? '' : '>&2'
      const wide = { stdout: most, stderr: most, combined: most }
      const exact = await run({ ...sh(`head -c ${most} /dev/zero ${to}`), limits: wide })
      expect(exact.end).toEqual({ kind: 'exited', code: 0 })
      expect(exact.captured[stream].length).toBe(most)
      const over = await run({ ...sh(`head -c ${most + 1} /dev/zero ${to}`), limits: wide })
      expect(over.end).toMatchObject({ kind: 'output_exceeded' })
      expect(over.captured[stream].length).toBe(most)
    })

    test('both streams at once, neither waits for the other', async () => {
      const { end, captured } = await run({
        ...sh('head -c 900000 /dev/zero >&2 & head -c 900000 /dev/zero; wait'),
        limits: { combined: 1_800_000 },
      })
      expect(end).toEqual({ kind: 'exited', code: 0 })
      expect([captured.stdout.length, captured.stderr.length]).toEqual([900_000, 900_000])
    })

    test('many small pieces take no more memory than twice their size', async () => {
      const most = 8 * 1_048_576
      globalThis.gc?.()
      const before = process.memoryUsage()
      let peak = 0
      const watch = setInterval(() => {
        const { external, heapUsed } = process.memoryUsage()
        peak = Math.max(peak, external + heapUsed - before.external - before.heapUsed)
      }, 5)
      const result = await run({
        ...sh(`exec dd if=/dev/zero bs=64 count=${most / 64} status=none`),
        limits: { stdout: most, combined: most },
        timeoutSeconds: 60,
      })
      clearInterval(watch)
      expect(result.captured.stdout.length).toBe(most)
      // What Node reads into is collected when it likes: its slack is allowed for.
      expect(peak).toBeLessThan(2 * most + 48 * 1_048_576)
    })
  })

  describe('standard input', () => {
    test('none: at its end at once', async () => {
      expect((await run({ command: '/bin/cat' })).end).toEqual({ kind: 'exited', code: 0 })
    })

    test('a mebibyte, whole', async () => {
      const stdin = Buffer.alloc(1_048_576, 'abcdefg')
      const { end, captured } = await run({ command: '/bin/cat', stdin })
      expect(end).toEqual({ kind: 'exited', code: 0 })
      expect(Buffer.compare(captured.stdout, stdin)).toBe(0)
    })

    test.each([
      ['never read', 'exit 3'],
      ['closed at once', 'exec <&-; sleep 0.1; exit 3'],
      ['read in part', 'head -c 10 > /dev/null; exit 3'],
    ])('%s: harmless', async (_, script) => {
      const { end } = await run({ ...sh(script), stdin: Buffer.alloc(4_194_304) })
      expect(end).toEqual({ kind: 'exited', code: 3 })
    })
  })
})
