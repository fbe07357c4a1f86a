import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadKoffi } from '../../runner/native/koffi.ts'
import { armHost } from '../../runner/process/arm.ts'
import type { ArmedHost } from '../../runner/process/containment/armed-host.ts'
import { isRoot, kinds, launch, openRoom, type Room, sh, stateOf, tagged, textOf, until, zombies } from './support.ts'

/** Leaves its group and session, its parents and every descriptor, writes its pid and stays. */
const daemonText = `#!/bin/sh
if [ "$2" = inner ]; then
  exec 0<&- 1>&- 2>&- 3>&- 4>&- 5>&-
  echo $$ > "$1.new"
  mv "$1.new" "$1"
  exec sleep 60
fi
setsid "$0" "$1" inner &
`

describe.each(kinds)('process-tree termination, held by %s', kind => {
  let room: Room
  let armed: ArmedHost
  beforeEach(() => {
    room = openRoom(kind)
    armed = armHost(room.options)
    room.script('daemon', daemonText)
  })
  afterEach(() => {
    expect(tagged(room.tag)).toEqual([])
    expect(zombies()).toEqual([])
    armed.close()
    room.remove()
  })

  /** A line of a shell script: starts a daemon and waits until it is there. */
  const daemon = (file: string) => `${room.file('daemon')} ${file}; while ! [ -e ${file} ]; do sleep 0.01; done;`

  const run = (options: Parameters<typeof launch>[2]) => launch(room, armed, options).wait

  test('a grandchild that keeps a pipe open does not hold the action: one second, then the result stands', async () => {
    const began = performance.now()
    const { end, captured } = await run(sh('sleep 60 & echo done; exit 4'))
    expect(end).toEqual({ kind: 'exited', code: 4 })
    expect(textOf(captured.stdout)).toBe('done\n')
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(performance.now() - began).toBeLessThan(8_000)
  })

  test('what a grandchild says within that second is kept', async () => {
    const { captured } = await run(sh('(sleep 0.3; echo late) & exit 0'))
    expect(textOf(captured.stdout)).toBe('late\n')
  })

  test('a daemon that closed every descriptor is gone after a normal exit', async () => {
    const file = room.file('there')
    const { end, containment } = await run(sh(daemon(file)))
    expect(end).toEqual({ kind: 'exited', code: 0 })
    expect(containment.left).toEqual([])
    expect(existsSync(file)).toBe(true)
  })

  test('and after a timeout', async () => {
    const file = room.file('there')
    const { end, containment } = await run({ ...sh(`${daemon(file)} exec sleep 60`), timeoutSeconds: 1 })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
    expect(containment.left).toEqual([])
    expect(existsSync(file)).toBe(true)
  })

  test('SIGTERM ignored by everyone: gone after two seconds of grace', async () => {
    const began = performance.now()
    const { end } = await run({
      ...sh('trap "" TERM; (trap "" TERM; while :; do sleep 1; done) & while :; do sleep 1; done'),
      timeoutSeconds: 1,
    })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
    expect(performance.now() - began).toBeGreaterThan(2_900)
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  test('SIGTERM heard: the main process and one that left its group both tidy up', async () => {
    const [first, second, ready] = [room.file('first'), room.file('second'), room.file('ready')]
    // The main process is gone first: that must not take the other's grace.
    const tidy = (file: string, seconds: number) => `trap "sleep ${seconds}; echo tidy > ${file}; exit" TERM`
    const script = `setsid sh -c '${tidy(second, 1)}; : > ${ready}; while :; do sleep 0.05; done' > /dev/null 2>&1 &
      ${tidy(first, 0)}; while :; do sleep 0.05; done`
    const running = launch(room, armed, sh(script))
    await until('both are there', () => existsSync(ready))
    await running.kill('enough')
    expect(readFileSync(first, 'utf8')).toBe('tidy\n')
    expect(readFileSync(second, 'utf8')).toBe('tidy\n')
  })

  test('a stopped process', async () => {
    const { end } = await run({ ...sh('kill -STOP $$; sleep 60'), timeoutSeconds: 1 })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
  })

  test('a stopped grandchild that left the group', async () => {
    const file = room.file('there')
    const { end } = await run(
      sh(
        `setsid sh -c 'echo $$ > ${file}; kill -STOP $$' > /dev/null 2>&1 & while ! [ -s ${file} ]; do sleep 0.01; done`,
      ),
    )
    expect(end).toEqual({ kind: 'exited', code: 0 })
  })

  test('orphans that die while it runs are waited for: no zombie piles up', async () => {
    const done = room.file('done')
    const running = launch(
      room,
      armed,
      sh(`for i in $(seq 40); do (sleep 0.05 &) ; done; sleep 0.3; : > ${done}; sleep 60`),
    )
    await until('all are orphans', () => existsSync(done))
    await until('none is left dead', () => zombies().length === 0, 10)
    await running.kill('seen')
  })

  test('a zombie that its own parent never waits for is gone with it', async () => {
    const program = `const { spawn } = require('node:child_process'); spawn('/bin/true'); while (true);`
    const { end } = await run({
      command: process.execPath,
      args: ['-e', program],
      timeoutSeconds: 1,
    })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
  })

  test('a few hundred processes that fork as they are killed', async () => {
    const bomb = room.script(
      'bomb',
      '#!/bin/sh\ntrap "" TERM HUP\n[ "$1" -gt 0 ] || exec sleep 60\nsetsid "$2" $(($1 - 1)) "$2" > /dev/null 2>&1 &\nsetsid "$2" $(($1 - 1)) "$2" > /dev/null 2>&1 &\nwhile :; do (sleep 0.01; :) & wait; done\n',
    )
    const running = launch(room, armed, { command: bomb, args: ['7', bomb] })
    await until('hundreds', () => tagged(room.tag).length > 200, 40)
    const began = performance.now()
    await running.kill('enough')
    const { containment } = await running.wait
    expect(containment.left).toEqual([])
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  test('twenty at once, some of which run out of time: each ends alone, nobody takes another down', async () => {
    const began = Array.from({ length: 20 }, (_, index) => {
      const file = room.file(`there-${index}`)
      return index % 4 === 0
        ? launch(room, armed, { ...sh(`${daemon(file)} exec sleep 60`), timeoutSeconds: 1 })
        : launch(room, armed, sh(`${daemon(file)} sleep 3; echo ${index}; kill -0 $(cat ${file}) && exit 7`))
    })
    const ends = await Promise.all(began.map(({ wait }) => wait))
    for (const [index, { end, captured, containment }] of ends.entries()) {
      expect(containment.left).toEqual([])
      if (index % 4 === 0) expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
      else {
        expect(textOf(captured.stdout)).toBe(`${index}\n`)
        expect(end).toEqual({ kind: 'exited', code: 7 })
      }
    }
  })

  test('a daemon of one that runs on outlives the end of another', async () => {
    const file = room.file('there')
    const long = launch(room, armed, sh(`${daemon(file)} exec sleep 60`))
    await until('the daemon', () => existsSync(file))
    const pid = Number(readFileSync(file, 'utf8'))
    await run(sh('exit 0'))
    expect(stateOf(pid)).toMatch(/[SRD]/)
    await long.kill('enough')
    expect(stateOf(pid)).toBeNull()
  })

  test('a descriptor that something opened since agentctl armed itself does not reach it', async () => {
    const loaded = loadKoffi()
    if ('absent' in loaded) throw new Error(loaded.absent)
    const duplicate: (fd: number) => number = loaded.koffi.load('libc.so.6').func('int dup(int)')
    const open = duplicate(1)
    const { captured } = await run(sh('ls /proc/$$/fd; :'))
    closeSync(open)
    expect(textOf(captured.stdout)).toBe('0\n1\n2\n3\n')
  })

  test('one that is over at once and leaves something: agentctl, still in its cgroup, does not go with it', async () => {
    for (let round = 0; round < 5; round += 1) {
      // The kernel moves nobody quickly after a pause.
      await sleep(100)
      const { end, containment } = await run(sh('sleep 60 > /dev/null 2>&1 & exit 3'))
      expect(end).toEqual({ kind: 'exited', code: 3 })
      expect(containment).toMatchObject({ containment: kind, left: [] })
    }
  })

  test('what agentctl itself started besides is left alone', async () => {
    const own = spawn('/bin/sleep', ['60'], { stdio: 'ignore' })
    try {
      await run(sh('exit 0'))
      expect(stateOf(own.pid ?? 0)).not.toBeNull()
      expect(own.exitCode).toBeNull()
    } finally {
      own.kill('SIGKILL')
      await once(own, 'exit')
    }
  })

  test.runIf(isRoot)('a pid namespace of its own', async () => {
    const file = room.file('there')
    const { end, containment } = await run({
      ...sh(`exec unshare --pid --fork --mount-proc sh -c 'setsid sleep 60 & : > ${file}; sleep 60'`),
      timeoutSeconds: 1,
    })
    expect(end).toEqual({ kind: 'timed_out', seconds: 1 })
    expect(containment.left).toEqual([])
    expect(existsSync(file)).toBe(true)
  })

  test.runIf(isRoot && kind === 'cgroup')(
    'root that moved itself out of its cgroup is found all the same',
    async () => {
      const file = room.file('there')
      const move = 'echo $$ > /sys/fs/cgroup/unified/cgroup.procs 2> /dev/null || echo $$ > /sys/fs/cgroup/cgroup.procs'
      const { containment } = await run(
        sh(
          `setsid sh -c '${move}; exec 0<&- 1>&- 2>&- 3>&-; echo $$ > ${file}; exec sleep 60' & while ! [ -s ${file} ]; do sleep 0.01; done`,
        ),
      )
      expect(containment).toMatchObject({ containment: 'cgroup', left: [] })
      expect(stateOf(Number(readFileSync(file, 'utf8')))).toBeNull()
    },
  )

  test.runIf(kind === 'cgroup')('no cgroup is left, also where it made some of its own', async () => {
    const place = room.file('place')
    const mount = existsSync('/sys/fs/cgroup/unified') ? '/sys/fs/cgroup/unified' : '/sys/fs/cgroup'
    const script = `sed -n s/^0:://p /proc/self/cgroup > ${place}; d=${mount}$(cat ${place}); mkdir -p $d/a/b; echo $$ > $d/a/b/cgroup.procs; sleep 60 &`
    const { end } = await run(sh(script))
    expect(end).toEqual({ kind: 'exited', code: 0 })
    const directory = `${mount}${readFileSync(place, 'utf8').trim()}`
    expect(directory).toContain('/agentctl/')
    expect(() => statSync(directory)).toThrow('ENOENT')
  })
})
