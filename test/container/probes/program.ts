import { findEngine, runContainer } from '../../../runner/container/container.ts'
import { openDirectory } from '../../../runner/facts/directory.ts'
import type { TestEngine } from '../../engines/engines.ts'
import { containerDefaults } from './defaults.ts'

/**
 * An agentctl of its own that runs one container of the probe tool: `program JSON`. Prints `found` when it has its engine,
 * `output` for what the container prints, and then how it ended.
 */
export interface Orders {
  kind: TestEngine['kind']
  env: { [name: string]: string }
  image: string
  words: string[]
  cwd: string
  effect: string
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders
const found = await findEngine(orders.kind, orders.image, orders.env)
process.stdout.write('found\n')
const running = runContainer({
  ...containerDefaults,
  ...found,
  args: orders.words,
  cwd: openDirectory(orders.cwd),
  effect: orders.effect,
  signal: new AbortController().signal,
  onOutput: () => process.stdout.write('output\n'),
})
const { end, controls } = await running.wait
process.stdout.write(`${JSON.stringify({ end, removed: controls.removed })}\n`)
