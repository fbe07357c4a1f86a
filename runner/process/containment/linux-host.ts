import { randomUUID } from 'node:crypto'
import { describeError } from '../../../policy/redact.ts'
import type { Containment, Guarantee } from '../../executor.ts'
import { loadNative } from '../../native/linux.ts'
import type { Native } from '../../native/native.ts'
import type { MainProcess } from '../main-process.ts'
import { type ArmedHost, type ArmOptions, refusing, StartRefused } from './armed-host.ts'
import { Berths } from './berths.ts'
import { type CgroupHome, openCgroupHome, planCgroupHome, removeHome } from './cgroup.ts'
import { inheritableDescriptors } from './descriptors.ts'
import { Hold } from './hold.ts'
import { addStarted, killGroupOfDead, sweepOrphans, watchChildren } from './own-children.ts'
import { cgroupOf, heldFile, ownIdentity, type Seen } from './proc.ts'
import {
  closeEntry,
  closeMarker,
  type Entry,
  lostReason,
  openEntry,
  openMarker,
  registryPlaces,
  rewriteEntry,
} from './registry.ts'

/** How often the dead among agentctl's orphans are waited for while effects run: chains of forks leave thousands a second. */
const reapEvery = 100
/** How long an agentctl that ends at once kills, and then how long it waits for what it killed to be gone; milliseconds. */
const lastKill = 200
const lastWait = 200

/** Linux: non-dumpable, adopting orphans, each effect in a cgroup or found by descent and marker. */
export class LinuxHost implements ArmedHost {
  readonly absent: Containment['absent'] = []
  readonly native: Native | null = null
  readonly #nativeAbsent: string = ''
  readonly #home: CgroupHome | null = null
  readonly #berths: Berths | null = null
  readonly #entry: Entry | null = null
  readonly #ownStart: number
  readonly #holds = new Set<Hold>()
  readonly #close = () => this.close()
  #number = 0
  #reaper: NodeJS.Timeout | null = null

  constructor(options: ArmOptions = {}) {
    const layer = options.native ?? loadNative()
    if ('native' in layer) this.native = layer.native
    else this.#nativeAbsent = layer.absent
    this.#arm('non_dumpable', native => native.forbidDump())
    this.#arm('subreaper', native => native.adoptOrphans())
    this.#arm('closed_descriptors', native => native.closeOnExec(3))
    watchChildren()

    const identity = ownIdentity()
    this.#ownStart = identity?.start ?? 0
    const name = `${identity?.pid ?? process.pid}-${this.#ownStart}-${randomUUID().slice(0, 8)}`
    const plan = options.containment === 'best-effort' ? { absent: 'not asked for' } : planCgroupHome(name)
    const planned = 'absent' in plan ? null : { directory: plan.directory, inode: null }
    if (identity === null) this.#miss('findable_after_crash', '/proc does not show agentctl by its own pid')
    else {
      // Before the cgroup: killed between the two, it leaves nothing that nobody knows of.
      const places = options.registry ?? registryPlaces(process.geteuid?.() ?? -1)
      const opened = openEntry(name, { ...identity, cgroup: planned }, places)
      if ('entry' in opened) this.#entry = opened.entry
      else this.#miss('findable_after_crash', opened.absent)
    }
    if ('absent' in plan) this.#miss('cgroup', plan.absent)
    else {
      const opened = openBerths(name)
      if ('absent' in opened) this.#miss('cgroup', opened.absent)
      else ({ home: this.#home, berths: this.#berths } = opened)
    }
    if (identity !== null && this.#entry !== null && planned !== null) {
      const cgroup = this.#home === null ? null : { directory: this.#home.directory, inode: this.#home.inode }
      try {
        this.#entry = rewriteEntry(this.#entry, { ...identity, cgroup })
      } catch (error) {
        this.#miss('findable_after_crash', `its entry could not be completed: ${describeError(error)}`)
      }
    }
    process.once('exit', this.#close)
  }

  ready(): Promise<void> | null {
    return this.#berths === null || this.#berths.isReady ? null : this.#berths.moved
  }

  start(effect: string, spawn: (marker: number | null) => MainProcess): Hold {
    this.#closeDescriptors()
    const { berth, marker } = refusing(() => {
      const berth = this.#berths?.take() ?? null
      this.#number += 1
      return { berth, marker: openMarker(this.#entry, berth?.number ?? this.#number, effect) }
    })
    try {
      const child = spawn(marker?.fd ?? null)
      addStarted(child)
      const hold = new Hold(this.#ports, child, marker, berth)
      this.#holds.add(hold)
      this.#reaper ??= setInterval(() => this.#reapDead(), reapEvery).unref()
      this.#berths?.advance()
      return hold
    } catch (error) {
      if (marker !== null) closeMarker(marker)
      throw error
    }
  }

  close(): void {
    process.off('exit', this.#close)
    this.#berths?.leave()
    const deadline = performance.now() + lastKill
    for (const hold of this.#holds) hold.endNow(deadline)
    if (this.#home !== null && !this.#removeSoon(this.#home.directory)) return
    if (this.#entry !== null) closeEntry(this.#entry)
  }

  /** Removes agentctl's own cgroup directory, waiting a moment for what was just killed. */
  #removeSoon(directory: string): boolean {
    const pause = new Int32Array(new SharedArrayBuffer(4))
    for (let waited = 0; !removeHome(directory); waited += 5) {
      if (waited >= lastWait) return false
      Atomics.wait(pause, 0, 0, 5)
      this.#berths?.leave()
    }
    return true
  }

  get #ports() {
    return {
      native: this.native,
      absent: this.absent,
      berths: this.#berths,
      ownStart: this.#ownStart,
      orphansOf: (hold: Hold) => this.#orphansOf(hold),
      lostReason: ({ marker }: Hold) => (this.#entry === null ? null : lostReason(this.#entry, marker)),
      release: (hold: Hold) => this.#release(hold),
    }
  }

  #release(hold: Hold): void {
    this.#holds.delete(hold)
    if (hold.marker !== null) closeMarker(hold.marker)
    if (this.#holds.size > 0 || this.#reaper === null) return
    clearInterval(this.#reaper)
    this.#reaper = null
  }

  /** An orphan that nobody can be found for waits until no effect runs any more: until then it may be another's. */
  #orphansOf(hold: Hold): Seen[] {
    const native = this.native
    if (native === null) return []
    const isLast = ![...this.#holds].some(other => other.running && other !== hold)
    const isOf = (seen: Seen) => {
      const owner = this.#ownerOf(seen)
      return owner === hold || (owner === null && isLast && !hold.running)
    }
    const mains = [...this.#holds].map(({ child }) => child.pid)
    const tried = new Set<number>()
    const living = sweepOrphans(pid => {
      if (!hold.running) killGroupOfDead(pid, mains, isOf, tried)
      return native.reap(pid)
    })
    return living.filter(seen => !seen.dead && isOf(seen))
  }

  #ownerOf({ pid, session, group }: Seen): Hold | null {
    const holds = [...this.#holds]
    const place = cgroupOf(pid)
    const byCgroup = holds.find(
      ({ berth }) => berth !== null && (place === berth.place || place?.startsWith(`${berth.place}/`)),
    )
    if (byCgroup !== undefined) return byCgroup
    // A number that names a session or a group is given to nobody else while one of it lives.
    const bySession = holds.find(({ child }) => child.pid === session || child.pid === group)
    if (bySession !== undefined) return bySession
    const held = heldFile(pid, new Set(holds.flatMap(({ marker }) => marker?.path ?? [])))
    return held === null ? null : (holds.find(({ marker }) => marker?.path === held) ?? null)
  }

  #reapDead(): void {
    const native = this.native
    if (native !== null) sweepOrphans(pid => native.reap(pid))
  }

  #closeDescriptors(): void {
    if (this.native !== null) {
      try {
        this.native.closeOnExec(3)
        return
      } catch {
        // No close_range before Linux 5.11.
      }
    }
    const [first] = inheritableDescriptors()
    if (first !== undefined)
      throw new StartRefused(
        'inherited_descriptor',
        `agentctl itself inherited descriptor ${first.fd} (${first.target}), which would reach every process that it starts, and cannot close it here; start agentctl without it, in a shell by ${first.fd}>&-`,
      )
  }

  #arm(guarantee: Guarantee, act: (native: Native) => void): void {
    try {
      if (this.native === null) this.#miss(guarantee, this.#nativeAbsent)
      else act(this.native)
    } catch (error) {
      this.#miss(guarantee, describeError(error))
    }
  }

  #miss(guarantee: Guarantee, reason: string): void {
    this.absent.push({ guarantee, reason })
  }
}

/** The home and agentctl in its first berth, or nothing of either. */
function openBerths(name: string): { home: CgroupHome; berths: Berths } | { absent: string } {
  const opened = openCgroupHome(name)
  if ('absent' in opened) return opened
  const { home } = opened
  try {
    return { home, berths: new Berths(home) }
  } catch (error) {
    removeHome(home.directory)
    return { absent: `agentctl cannot be moved into a cgroup below ${home.directory}: ${describeError(error)}` }
  }
}
