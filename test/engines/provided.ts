import { describe, inject } from 'vitest'
import type { Engines, TestEngine } from './engines.ts'
import type {} from './global-setup.ts'
import type { TestImage } from './images.ts'

/** The engines of this run; null where they cannot be had, which the set-up has told or refused. */
export const engines: Engines | null = inject('engines')

/** One engine with the image of the base tree on it. */
export interface OneEngine {
  engine: TestEngine
  busybox: TestImage
  engines: Engines
}

/** Tests that run once on each engine. Without engines they are shown as not run. */
export function describeEngines(name: string, tests: (one: OneEngine) => void): void {
  if (engines === null) {
    describe.skip(`${name} (no engines here)`, () => {})
    return
  }
  for (const kind of ['docker', 'podman'] as const) {
    const one = { engine: engines[kind], busybox: engines.busybox[kind], engines }
    describe(`${name} on ${kind}`, () => tests(one))
  }
}
