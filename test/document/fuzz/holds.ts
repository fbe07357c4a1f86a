import assert from 'node:assert/strict'
import { build } from '../support.ts'

/** CPU time that one text may take, in milliseconds; documents here have some thousand characters. */
export const cpuLimit = 2_000

/** What must hold for any text at all: an answer, never an exception, and each finding with a place in the text. */
export function holds(text: string): void {
  const before = process.threadCpuUsage()
  const { plan, diagnostics } = build(text)
  const { user, system } = process.threadCpuUsage(before)
  assert.ok((user + system) / 1_000 < cpuLimit, `it took ${(user + system) / 1_000} ms of CPU`)
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  assert.equal(plan === null, errors.length > 0, 'a plan, or an error that says why there is none')
  assert.ok(errors.length <= 100, `${errors.length} errors`)
  const lines = text.split('\n')
  for (const { line, column, message, code } of diagnostics) {
    assert.notEqual(message, '')
    assert.notEqual(code, '')
    assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}: ${message}`)
    const width = (lines[line - 1] ?? '').length
    assert.ok(column >= 1 && column <= width + 1, `column ${column} of ${width}: ${message}`)
  }
  if (plan !== null) assert.equal(build(text).plan?.planDigest, plan.planDigest, 'the same plan again')
}
