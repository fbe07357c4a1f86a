import { closeSync, mkdirSync, openSync, write } from 'node:fs'
import path from 'node:path'
import { describeError } from '../../../policy/redact.ts'
import { type CgroupHome, isAlone, moveSelf, removeCgroup } from './cgroup.ts'

/** The cgroup of one effect. */
export interface Berth {
  /** Its name within agentctl's directory. */
  number: number
  dir: string
  /** As /proc/<pid>/cgroup names it. */
  place: string
}

/**
 * The cgroups in which effects are born: a child begins where agentctl is, so agentctl waits in the next effect's. It moves
 * on once a child is born, beside everything else: where the kernel moved nobody for a while, that takes it some 10 ms.
 */
export class Berths {
  readonly #home: CgroupHome
  #next: Berth
  #isThere = false
  #moved: Promise<void> = Promise.resolve()
  /** Proven empty, and kept only because agentctl itself was still inside. */
  readonly #emptied = new Set<Berth>()
  #broken: string | null = null

  /** Throws where agentctl cannot be moved into the first. */
  constructor(home: CgroupHome) {
    this.#home = home
    this.#next = this.#make(1)
    this.#enter()
  }

  /** Whether a child may be born now, in a berth or, once they are broken, without one. */
  get isReady(): boolean {
    return this.#isThere || this.#broken !== null
  }

  /** The move under way is over. */
  get moved(): Promise<void> {
    return this.#moved
  }

  /** Why no more children are born in a berth, null where they are. */
  get broken(): string | null {
    return this.#broken
  }

  /** The berth in which the next child will be born; null where there is none. Then `advance`, unless none was born. */
  take(): Berth | null {
    if (this.#broken !== null) return null
    // Something else that agentctl started meanwhile began here too: it is not the effect's.
    if (!isAlone(this.#next.dir)) {
      try {
        this.#next = this.#make(this.#next.number + 1)
        this.#enter()
      } catch (error) {
        this.#break(error)
        return null
      }
    }
    return this.#next
  }

  /** Somebody was born: on to the next berth. */
  advance(): void {
    if (this.#broken !== null) return
    this.#isThere = false
    try {
      this.#next = this.#make(this.#next.number + 1)
      const fd = openSync(path.join(this.#next.dir, 'cgroup.procs'), 'w')
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#moved = promise
      write(fd, String(process.pid), error => {
        closeSync(fd)
        if (error === null) this.#isThere = true
        else this.#break(error)
        for (const berth of this.#emptied) this.remove(berth)
        resolve()
      })
    } catch (error) {
      this.#break(error)
    }
  }

  /** Removes a berth, which proves it empty; one that only agentctl is in goes with agentctl. */
  remove(berth: Berth): boolean {
    this.#emptied.delete(berth)
    if (removeCgroup(berth.dir)) return true
    if (!isAlone(berth.dir)) return false
    this.#emptied.add(berth)
    return true
  }

  /** At agentctl's end: back to where it came from. */
  leave(): void {
    this.#broken ??= 'agentctl is ending'
    try {
      moveSelf(this.#home.own)
    } catch {
      // It ends where it is; the next start removes what is left.
    }
  }

  #make(number: number): Berth {
    const dir = path.join(this.#home.directory, String(number))
    mkdirSync(dir)
    return { number, dir, place: path.posix.join(this.#home.place, String(number)) }
  }

  #enter(): void {
    moveSelf(this.#next.dir)
    this.#isThere = true
  }

  #break(error: unknown): void {
    this.#broken = `agentctl can make no more cgroups below ${this.#home.directory}: ${describeError(error)}`
    try {
      moveSelf(this.#home.own)
    } catch {
      // Then it stays in an effect's, which is not killed as a whole while it does.
    }
  }
}
