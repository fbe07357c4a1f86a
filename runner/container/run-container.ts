import type { ContainerProcess, RunningContainer } from './container.ts'

export function runContainer(_request: ContainerProcess): RunningContainer {
  throw new Error('not there yet')
}
