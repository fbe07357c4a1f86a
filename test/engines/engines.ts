import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { readOwner } from '../../runner/container/labels.ts'
import { removeParentsOf } from '../../runner/container/memory-evidence.ts'
import { forgetNote, readNotes } from '../../runner/container/notes.ts'
import type { TestImage } from './images.ts'

/** One private engine, as tests reach it. */
export interface TestEngine {
  kind: 'docker' | 'podman'
  /** A whole environment that leads an agentctl to this engine and to no other. */
  env: { [name: string]: string }
  /** Unix socket of its API. */
  socket: string
  /** Where it keeps images and containers. */
  dataRoot: string
  /** Process of its daemon. */
  pid: number
}

/** Both engines and what they share; plain data, so that it can be handed to other processes. */
export interface Engines {
  /** Everything of them lies below it. */
  directory: string
  docker: TestEngine
  podman: TestEngine
  /** HOST:PORT of the registry on loopback that gives images of Docker their digests. */
  registry: string
  /** Archive of the tree that every image starts from: busybox and the probe tool in /bin. */
  baseLayer: string
  /** The probe tool itself, linked statically. */
  probe: string
  /** An image of just that tree. */
  busybox: { docker: TestImage; podman: TestImage }
}

export interface RunningEngines extends Engines {
  /** Ends them, removes what they left, and throws with the list of what is left all the same. */
  stop(): Promise<void>
}

/**
 * Starts a private Docker and a private Podman. Debian and root only: `whyNoEngines` tells. A process of their own keeps
 * them, so that they are stopped and cleared away also when the caller is killed.
 */
export async function startEngines(): Promise<RunningEngines> {
  const keeper = spawn(process.execPath, [path.join(import.meta.dirname, 'keeper.ts')], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const said = text(keeper.stderr)
  const ended = once(keeper, 'exit').then(([code]) => Number(code ?? 1))
  const line = await Promise.race([
    once(createInterface(keeper.stdout), 'line').then(([first]) => String(first)),
    ended.then(() => null),
  ])
  if (line === null) throw new Error(`the engines did not start: ${await said}`)
  keeper.unref()
  const engines = JSON.parse(line) as Engines
  const { directory } = engines
  return {
    ...engines,
    async stop() {
      keeper.ref()
      keeper.stdin.end()
      const code = await ended
      // Of agentctl processes that a test has killed: nobody can ask these engines any more.
      for (const note of readNotes().filter(({ engines }) => engines.some(one => one.includes(directory)))) {
        const owner = readOwner(note.owner)
        if (owner !== null && owner.pid !== process.pid) await removeParentsOf(owner)
        forgetNote(note)
      }
      if (code !== 0) throw new Error(`the engines did not end cleanly: ${await said}`)
    },
  }
}
