import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Containment } from '../../executor.ts'
import type { Native } from '../../native/native.ts'
import type { Held } from './armed-host.ts'
import { isPopulated, killCgroup, membersOf, removeCgroup } from './cgroup.ts'
import { cleanPasses, killInPasses, killPass } from './passes.ts'
import { heldFile, type Seen, seeAll, seeProcess, withDescendants } from './proc.ts'
import type { Marker } from './registry.ts'
import { signalSeen } from './signal.ts'

/** What a hold needs of the agentctl that it belongs to. */
export interface HoldPorts {
  native: Native | null
  absent: Containment['absent']
  /** Start of agentctl itself: nothing older can be an effect's. */
  ownStart: number
  /** Living orphans that belong to this hold, or to nobody else. */
  orphansOf(hold: Hold): Seen[]
  /** Nothing of it is left, or nothing more can be done about it. */
  release(hold: Hold): void
}

/** The processes of one effect on Linux, held by their cgroup or found by descent, session and marker. */
export class Hold implements Held {
  readonly #ports: HoldPorts
  readonly child: ChildProcess
  readonly marker: Marker | null
  /** Its own cgroup, with its place as /proc/<pid>/cgroup names it; null where there is none. */
  readonly cgroup: { dir: string; place: string; stuck: string | null } | null
  /** False from the moment at which its end began: what is an orphan then belongs to it or to nobody. */
  running = true
  /** Its cgroup is gone, which proves it empty. */
  #isCgroupGone = false

  constructor(ports: HoldPorts, child: ChildProcess, marker: Marker | null, cgroup: Hold['cgroup']) {
    this.#ports = ports
    this.child = child
    this.marker = marker
    this.cgroup = cgroup
  }

  terminate(): void {
    const { native } = this.#ports
    const members = this.#members()
    this.#signalGroup('SIGTERM')
    for (const seen of members)
      if (seen.group !== this.child.pid || !this.#isUnwaited) signalSeen(native, seen, 'SIGTERM')
  }

  isEmpty(): boolean {
    if (this.cgroup !== null) return !isPopulated(this.cgroup.dir)
    return this.#members().length === 0
  }

  async end(budgetMilliseconds: number): Promise<Containment> {
    this.running = false
    const deadline = performance.now() + budgetMilliseconds
    await this.#endCgroup(deadline)
    // Past its cgroup there is only who left it, which one look at agentctl's own children tells.
    const needed = this.#isCgroupGone ? 1 : cleanPasses
    const find = () => this.#members()
    const { left } = await killInPasses(this.#ports.native, find, Math.max(0, deadline - performance.now()), needed)
    this.#release()
    const absent = [...this.#ports.absent]
    const stuck = this.cgroup?.stuck ?? null
    if (stuck !== null) absent.push({ guarantee: 'cgroup', reason: stuck })
    return {
      containment: this.cgroup === null || stuck !== null ? 'best-effort' : 'cgroup',
      absent,
      left: left.map(({ pid, command }) => ({ pid, command })),
    }
  }

  /** The kill alone, at once: agentctl itself is about to end. */
  endNow(): void {
    this.running = false
    if (this.cgroup !== null) killCgroup(this.cgroup.dir)
    killPass(this.#ports.native, () => this.#members())
    this.#release()
  }

  #release(): void {
    if (this.cgroup !== null && !this.#isCgroupGone) removeCgroup(this.cgroup.dir)
    this.#ports.release(this)
  }

  async #endCgroup(deadline: number): Promise<void> {
    if (this.cgroup === null) return
    const { dir } = this.cgroup
    for (let pause = 1; !removeCgroup(dir); pause = Math.min(pause * 2, 20)) {
      if (!killCgroup(dir) || performance.now() > deadline) return
      await sleep(pause)
    }
    this.#isCgroupGone = true
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
      this.cgroup === null || this.#isCgroupGone ? [] : membersOf(this.cgroup.dir).flatMap(pid => seeProcess(pid) ?? [])
    const main = this.#isUnwaited && this.child.pid !== undefined ? (seeProcess(this.child.pid) ?? []) : []
    const found = [...inside, ...this.#ports.orphansOf(this)].concat(main)
    // Orphans of a process that adopts none are found by what they inherited alone.
    return this.#ports.native === null ? [...found, ...this.#holders()] : found
  }

  #holders(): Seen[] {
    const { marker } = this
    if (marker === null) return []
    return seeAll().filter(
      ({ pid, start }) => start >= this.#ports.ownStart && pid !== process.pid && heldFile(pid, [marker.path]) !== null,
    )
  }
}
