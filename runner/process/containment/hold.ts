import { setTimeout as sleep } from 'node:timers/promises'
import type { Containment } from '../../executor.ts'
import type { Native } from '../../native/native.ts'
import type { MainProcess } from '../main-process.ts'
import type { Held } from './armed-host.ts'
import type { Berth, Berths } from './berths.ts'
import { killCgroup, membersOf } from './cgroup.ts'
import { cleanPasses, killInPasses, killPass } from './passes.ts'
import { heldFile, programOf, type Seen, seeAll, seeProcess, withDescendants } from './proc.ts'
import type { Marker } from './registry.ts'
import { signalSeen } from './signal.ts'

/** What a hold needs of the agentctl that it belongs to. */
export interface HoldPorts {
  native: Native | null
  absent: Containment['absent']
  berths: Berths | null
  /** Start of agentctl itself: nothing older can be an effect's. */
  ownStart: number
  /** Living orphans that belong to this hold, or to nobody else. */
  orphansOf(hold: Hold): Seen[]
  /** Why what it leaves would not be found after a crash, where agentctl itself could arm that; else null. */
  lostReason(hold: Hold): string | null
  /** Nothing of it is left, or nothing more can be done about it. */
  release(hold: Hold): void
}

/** The processes of one effect on Linux, held by their cgroup or found by descent, session and marker. */
export class Hold implements Held {
  readonly #ports: HoldPorts
  readonly child: MainProcess
  readonly marker: Marker | null
  /** Its own cgroup; null where there is none. */
  readonly berth: Berth | null
  /** False from the moment at which its end began: what is an orphan then belongs to it or to nobody. */
  running = true
  /** Nothing lives in its cgroup any more. */
  #isBerthEmpty = false

  constructor(ports: HoldPorts, child: MainProcess, marker: Marker | null, berth: Berth | null) {
    this.#ports = ports
    this.child = child
    this.marker = marker
    this.berth = berth
  }

  terminate(): void {
    const { native } = this.#ports
    // In a cgroup nobody is lost sight of; without one who is below the main process is known only while that lives.
    if (this.berth !== null) this.#signalGroup('SIGTERM')
    const members = this.#members()
    if (this.berth === null) this.#signalGroup('SIGTERM')
    for (const seen of members)
      if (seen.group !== this.child.pid || !this.#isUnwaited) signalSeen(native, seen, 'SIGTERM')
  }

  isEmpty(): boolean {
    if (this.berth !== null) return membersOf(this.berth.dir).every(pid => pid === process.pid)
    return this.#members().length === 0
  }

  async end(budgetMilliseconds: number): Promise<Containment> {
    this.running = false
    const deadline = performance.now() + budgetMilliseconds
    await this.#endBerth(deadline)
    // Past its cgroup there is only who left it, which one look at agentctl's own children tells.
    const needed = this.#isBerthEmpty ? 1 : cleanPasses
    const find = () => this.#members()
    const { left } = await killInPasses(this.#ports.native, find, Math.max(0, deadline - performance.now()), needed)
    const lost = this.#ports.lostReason(this)
    this.#ports.release(this)
    const broken = this.#ports.berths?.broken ?? null
    const absent = [...this.#ports.absent]
    if (broken !== null) absent.push({ guarantee: 'cgroup', reason: broken })
    if (lost !== null) absent.push({ guarantee: 'findable_after_crash', reason: lost })
    return {
      containment: this.#isBerthEmpty ? 'cgroup' : 'best-effort',
      absent,
      left: left.map(seen => ({ pid: seen.pid, command: programOf(seen) })),
    }
  }

  /** The kill alone, at once, over by about `deadline`: agentctl itself is about to end. */
  endNow(deadline: number): void {
    this.running = false
    if (this.berth !== null) killCgroup(this.berth.dir)
    killPass(this.#ports.native, () => this.#members(), deadline)
    this.#ports.release(this)
  }

  async #endBerth(deadline: number): Promise<void> {
    const { berths } = this.#ports
    if (this.berth === null || berths === null) return
    const { dir } = this.berth
    for (let pause = 1; !berths.remove(this.berth); pause = Math.min(pause * 2, 20)) {
      // agentctl itself may still be on its way out.
      if (!killCgroup(dir)) await berths.moved
      if (performance.now() > deadline) return
      await sleep(pause)
    }
    this.#isBerthEmpty = true
  }

  /** The main process's pid is its own until Node has waited for it. */
  get #isUnwaited(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (!this.#isUnwaited || this.child.pid === undefined) return
    try {
      process.kill(-this.child.pid, signal)
    } catch {
      // Nobody is left in it, or only another user's processes.
    }
  }

  /** Everyone alive who belongs to the effect, as far as can be seen. */
  #members(): Seen[] {
    const roots = new Map(this.#roots().map(seen => [seen.pid, seen]))
    roots.delete(process.pid)
    if (roots.size === 0) return []
    return withDescendants([...roots.values()], seeAll()).filter(({ dead }) => !dead)
  }

  #roots(): Seen[] {
    const inside =
      this.berth === null || this.#isBerthEmpty ? [] : membersOf(this.berth.dir).flatMap(pid => seeProcess(pid) ?? [])
    const main = this.#isUnwaited && this.child.pid !== undefined ? (seeProcess(this.child.pid) ?? []) : []
    const found = [...inside, ...this.#ports.orphansOf(this)].concat(main)
    // Orphans of a process that adopts none are found by what they inherited alone.
    return this.#ports.native === null ? [...found, ...this.#holders()] : found
  }

  #holders(): Seen[] {
    const { marker } = this
    if (marker === null) return []
    const paths = new Set([marker.path])
    return seeAll().filter(
      ({ pid, start }) => start >= this.#ports.ownStart && pid !== process.pid && heldFile(pid, paths) !== null,
    )
  }
}
