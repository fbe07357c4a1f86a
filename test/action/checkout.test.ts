import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Annotation } from '../../action/annotations.ts'
import { Annotations } from '../../action/annotations.ts'
import { warnOfLocalChanges } from '../../action/checkout.ts'
import type { Job } from '../../action/job.ts'
import { JobLog } from '../../action/job-log.ts'
import type { Plan } from '../../policy/document/plan.ts'

let checkout: string
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'agentctl checkout '))
})
afterEach(() => rmSync(checkout, { recursive: true }))

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
    cwd: checkout,
    stdio: 'pipe',
  })

class Kept extends Annotations {
  readonly kept: Annotation[] = []
  override add(annotation: Annotation): void {
    this.kept.push(annotation)
  }
}

async function warnings(approvalPossible = true): Promise<string[]> {
  const annotations = new Kept(new JobLog(() => {}), text => text)
  const plan = { requirements: { effects: [{ approvalPossible }] } } as unknown as Plan
  const { signal } = new AbortController()
  await warnOfLocalChanges({ job: { checkout } as Job, annotations, environment: process.env, signal }, plan)
  return annotations.kept.map(({ level, message }) => `${level}: ${message}`)
}

function commit(...names: string[]): void {
  git('init', '-q')
  for (const name of names) writeFileSync(join(checkout, name), 'one')
  git('add', '.')
  git('commit', '-q', '-m', 'x')
}

test('changed and deleted tracked files are named, new ones are not', async () => {
  commit('a b.txt', 'ö.txt', 'c.txt')
  writeFileSync(join(checkout, 'a b.txt'), 'two')
  rmSync(join(checkout, 'ö.txt'))
  writeFileSync(join(checkout, 'new.txt'), 'x')
  const [warning, ...others] = await warnings()
  expect(others).toEqual([])
  expect(warning).toMatch(/^warning: a b\.txt, ö\.txt differ from HEAD/)
})

test('of many only the first five', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `f${index}`)
  commit(...names)
  for (const name of names) writeFileSync(join(checkout, name), 'two')
  expect(await warnings()).toEqual([expect.stringContaining('f0, f1, f2, f3, f4 and 3 more differ')])
})

test('nothing is said of a clean checkout, of no checkout, and of a plan that cannot pause', async () => {
  expect(await warnings()).toEqual([])
  commit('a')
  expect(await warnings()).toEqual([])
  writeFileSync(join(checkout, 'a'), 'two')
  expect(await warnings(false)).toEqual([])
})

test('a program that the repository’s configuration names is not started', async () => {
  commit('a')
  const mark = join(checkout, 'started')
  git('config', 'core.fsmonitor', `touch ${JSON.stringify(mark)}; false`)
  writeFileSync(join(checkout, 'a'), 'two')
  expect(await warnings()).toHaveLength(1)
  expect(() => execFileSync('ls', [mark], { stdio: 'pipe' })).toThrow()
})
