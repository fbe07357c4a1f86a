import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Leftovers, reapLeftovers } from '../../runner/process/containment/leftovers.ts'
import type { Orders } from './program.ts'
import { type Kind, openRoom, type Room, sh, tagged } from './support.ts'

export const program = path.join(import.meta.dirname, 'program.ts')

/** Starts an agentctl of its own that runs the given shell scripts, each as one effect. */
export function agentctl(room: Room, scripts: { [effect: string]: string }): ChildProcess {
  const orders: Orders = {
    directory: room.directory,
    tag: room.tag,
    options: room.options,
    processes: Object.entries(scripts).map(([effect, script]) => ({ ...sh(script), effect })),
  }
  return spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** SIGKILL, and waits until it is over. */
export async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

export const reap = (room: Room): Promise<Leftovers> => reapLeftovers({ registry: room.options.registry ?? [] })

/** Names of the live agentctl processes that the room's registry tells of. */
export function entries(room: Room): string[] {
  const [place = ''] = room.options.registry ?? []
  return existsSync(place) ? readdirSync(place) : []
}

/** A line of a shell script: something that left the group and stays, with its pid in a file. */
export const apart = (file: string) =>
  `setsid sh -c 'echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 60' < /dev/null > /dev/null 2>&1 &`

/** Kills an agentctl with four effects at a random moment of its first 400 ms; answers the pids that are left after a reap. */
export async function killAtRandom(kind: Kind): Promise<{ left: number[]; entries: string[] }> {
  const room = openRoom(kind)
  try {
    const scripts = ['one', 'two', 'three', 'four'].map(name => [
      name,
      `${apart(room.file(name))} sleep 0.05; (sleep 60 &); exec sleep 60`,
    ])
    const child = agentctl(room, Object.fromEntries(scripts))
    const isArmed = await Promise.race([
      once(child.stdout ?? child, 'data').then(() => true),
      once(child, 'exit').then(() => false),
    ])
    if (!isArmed) throw new Error('agentctl ended before it had armed itself')
    await sleep(Math.random() * 400)
    await kill(child)
    await reap(room)
    return { left: tagged(room.tag), entries: entries(room) }
  } finally {
    room.remove()
  }
}
