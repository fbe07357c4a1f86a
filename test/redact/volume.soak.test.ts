import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { redactVolume } from './volume.ts'

test('100 secrets in 16 MiB, as text and in chunks: every one of them is gone', () => {
  redactVolume(100, 16 * 1024 * 1024)
})

test('the work grows with the text, not with its square', () => {
  const secrets = Array.from({ length: 100 }, () => randomBytes(24).toString('base64'))
  const seconds = [4, 16].map(mebibytes => redactVolume(100, mebibytes * 1024 * 1024, secrets))
  // Four times the text; a quadratic scan would take sixteen times as long.
  expect((seconds[1] ?? 0) / (seconds[0] ?? 1)).toBeLessThan(10)
})
