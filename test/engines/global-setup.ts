import type { TestProject } from 'vitest/node'
import { type Engines, startEngines } from './engines.ts'
import { whyNoEngines } from './packages.ts'

declare module 'vitest' {
  interface ProvidedContext {
    engines: Engines | null
  }
}

/**
 * Starts the engines once for all files of the project. Where they cannot be had, that is printed, and it fails where they
 * are required: in CI nothing is taken for proven that did not run.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const reason = whyNoEngines()
  if (reason !== null) {
    const isRequired = process.env['AGENTCTL_ENGINES'] === 'required' || process.env['CI'] === 'true'
    const unproven = `no real engines: ${reason}. Unproven here: everything about containers on Docker and on Podman`
    if (isRequired) throw new Error(`${unproven}. Run this on Debian as root`)
    console.log(unproven)
    project.provide('engines', null)
    return undefined
  }
  const { stop, ...engines } = await startEngines()
  project.provide('engines', engines)
  return stop
}
