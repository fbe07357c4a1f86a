import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Annotations } from '../../action/annotations.ts'
import { JobLog } from '../../action/job-log.ts'
import type { Pace } from '../../action/pace.ts'
import { Progress } from '../../action/progress.ts'
import { FakePace } from './fake-pace.ts'

/** What the job's log shows of tasks: groups, one task in each; silent ones are told once a minute. */
let written: string
let pace: FakePace
let progress: Progress
const print = process.stdout.write

beforeEach(() => {
  written = ''
  pace = new FakePace()
  const write = (text: string) => {
    written += text
  }
  // @actions/core prints its commands to stdout.
  process.stdout.write = ((text: string) => {
    write(text)
    return true
  }) as typeof print
  const log = new JobLog(write)
  progress = new Progress(log, new Annotations(log, text => text), pace satisfies Pace)
})
afterEach(() => {
  process.stdout.write = print
})

const started = (task: string) => progress.report({ type: 'task.started', task, kind: 'builtin.shell.exec' })
const ended = (task: string, state = 'succeeded') =>
  progress.report({ type: 'task.ended', task, state, milliseconds: 5, message: '' })
const says = (task: string, text: string) => progress.report({ type: 'output', task, stream: 'stdout', text })

/** The log as a person folds it: `[title` and `]` for a group, fences left out. Fails where groups are nested. */
function folded(): string[] {
  let isOpen = false
  return written.split('\n').flatMap(line => {
    if (line === '' || /^::(stop-commands::)?[0-9a-f]{48}(::)?$/.test(line)) return []
    if (line.startsWith('::group::')) {
      expect(isOpen, written).toBe(false)
      isOpen = true
      return [`[${line.slice('::group::'.length)}`]
    }
    if (line !== '::endgroup::') return [line]
    expect(isOpen, written).toBe(true)
    isOpen = false
    return [']']
  })
}

describe('output stands in groups', () => {
  test('of the one task that runs', () => {
    started('a')
    says('a', 'one\n')
    says('a', 'two\n')
    ended('a')
    expect(folded()).toEqual(['a (builtin.shell.exec) started', '[a output', 'one', 'two', ']', 'a succeeded in 5 ms'])
  })

  test('of each of several tasks, none in another’s: the first to speak is shown as it speaks', () => {
    for (const task of ['a', 'b', 'c']) started(task)
    says('b', 'b1\n')
    says('a', 'a1\n')
    says('b', 'b2\n')
    says('c', 'c1\n')
    says('a', 'a2')
    ended('b')
    ended('a')
    ended('c')
    expect(folded().slice(3)).toEqual([
      ...['[b output', 'b1', 'b2', ']', 'b succeeded in 5 ms'],
      ...['[a output', 'a1', 'a2', ']', 'a succeeded in 5 ms'],
      ...['[c output', 'c1', ']', 'c succeeded in 5 ms'],
    ])
  })

  test('a line of ours ends the group, and the task goes on in another', () => {
    started('a')
    says('a', 'one\n')
    progress.report({ type: 'restored', path: 'out/x' })
    says('a', 'two\n')
    progress.close()
    expect(folded().slice(1)).toEqual(['[a output', 'one', ']', 'restored out/x', '[a output, continued', 'two', ']'])
  })

  test('nothing that waits is lost when the run is interrupted, and none of it waits without end', () => {
    for (const task of ['a', 'b']) started(task)
    says('a', 'a\n')
    says('b', 'b\n')
    progress.close()
    expect(folded().slice(2)).toEqual(['[a output', 'a', ']', '[b output', 'b', ']'])
    written = ''
    says('a', 'a\n')
    const mebibyte = `${'x'.repeat(1_048_575)}\n`
    for (let count = 0; count < 5; count++) says('b', mebibyte)
    expect(written.length).toBeGreaterThan(4 * 1_048_576)
  })

  test('a command in it is none, and what is written in the title is data', () => {
    started('a\n::error::x')
    says('a\n::error::x', '::endgroup::\n::error::forged\n')
    ended('a\n::error::x')
    const [, token = ''] = /^::stop-commands::([0-9a-f]{48})$/m.exec(written.slice(written.indexOf('::group::'))) ?? []
    expect(written.indexOf('::error::forged')).toBeLessThan(written.lastIndexOf(`::${token}::`))
    expect(written).toContain('::group::a%0A::error::x output\n')
  })
})

describe('a silent task', () => {
  test('is told once a minute, for as long as it runs', () => {
    started('a')
    pace.advance(59_999)
    expect(folded()).toHaveLength(1)
    pace.advance(1)
    pace.advance(60_000)
    pace.advance(300_000)
    expect(folded().slice(1)).toEqual([1, 2, 3, 4, 5, 6, 7].map(minutes => `a still running, ${minutes} min`))
    ended('a')
    pace.advance(600_000)
    expect(folded().at(-1)).toBe('a succeeded in 5 ms')
    expect(pace.waiting).toBe(0)
  })

  test('output starts the minute again', () => {
    started('a')
    pace.advance(50_000)
    says('a', 'here\n')
    pace.advance(50_000)
    expect(written).not.toContain('still running')
    pace.advance(10_000)
    expect(folded().at(-1)).toBe('a still running, 1 min')
  })

  test('is told outside any group and fence, and shows what others said meanwhile', () => {
    for (const task of ['a', 'b', 'c']) started(task)
    pace.advance(30_000)
    says('a', 'half a line')
    says('b', 'b\n')
    pace.advance(30_000)
    expect(folded().slice(3)).toEqual([
      '[a output',
      'half a line',
      ']',
      '[b output',
      'b',
      ']',
      'c still running, 1 min',
    ])
    const fences = [...written.matchAll(/^::(?:stop-commands::)?([0-9a-f]{48})(?:::)?$/gm)].map(match => match[1])
    expect(fences).toHaveLength(4)
    expect(fences[0]).toBe(fences[1])
    expect(fences[2]).toBe(fences[3])
  })

  test('a retry counts from its own start, and an end of the run ends all', () => {
    started('a')
    pace.advance(90_000)
    started('a')
    pace.advance(59_000)
    expect(written.match(/still running/g)).toHaveLength(1)
    progress.close()
    pace.advance(600_000)
    expect(written.match(/still running/g)).toHaveLength(1)
    expect(pace.waiting).toBe(0)
  })
})
