import { existsSync, readFileSync } from 'node:fs'

/** Documents that the tests of the Action run, and what they look at around them. */
export const flow = (spec: string) =>
  `apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: { name: flow }\nspec:\n${spec}`

/** One process task `run`: a shell script, with an argument that finds its processes again. */
export const shell = (script: string, { marker = 'marker', more = '', task = '' } = {}) =>
  flow(`  policy: { processAllowlist: [sh], approval: never }
  actions:
    run: { kind: builtin.shell.exec, command: /bin/sh, args: [-c, ${JSON.stringify(script)}, ${marker}]${more} }
  tasks:
    - { id: run, uses: "action:run"${task} }
`)

/** No such process, or one that only waits for its new parent to take note. */
export function isGone(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

/** Asks until it holds; not a sleep for luck: it ends on the answer, or names what never came. */
export async function until(holds: () => boolean, what: string, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${what} never came`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

export const there = (path: string) => until(() => existsSync(path), path)
