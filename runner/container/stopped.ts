import type { ProcessEnd } from '../executor.ts'
import type { ContainerProcess } from './container.ts'

/** Why a container is not started, or not left running; the first cause stands. */
export class Stopped extends Error {
  readonly end: ProcessEnd
  constructor(end: ProcessEnd) {
    super(end.kind)
    this.end = end
  }
}

/** Throws Stopped for words that an engine would cut or read as other words, before it is asked for anything. */
export function refuseUnfit({ command, args, environment }: ContainerProcess): void {
  const refuse = (what: string) => {
    const message = `${what}, which no process can be given as it is`
    throw new Stopped({ kind: 'spawn_failed', code: 'invalid_input', message })
  }
  if ([command, ...args].some(word => word.includes('\0'))) refuse('an argument holds a NUL byte')
  for (const [name, value] of Object.entries(environment)) {
    if (!/^[^=\0]+$/.test(name))
      refuse(`the variable name ${JSON.stringify(name)} is empty or holds \`=\` or a NUL byte`)
    if (value.includes('\0')) refuse(`the variable ${JSON.stringify(name)} holds a NUL byte`)
  }
}
