import { type CompiledTask, tasksOf, type Work } from '../compile/work.ts'
import { documentLimits } from '../limits.ts'
import { bounds } from '../schema/common.ts'
import { type Path, showPath } from '../yaml/tree.ts'
import { isExpanded, type Placed } from './placed.ts'

/** The plan's tasks as they come, within the bounds of a plan; what does not fit is told once. */
export class Stage {
  readonly placed: Placed[] = []
  readonly #work: Work
  readonly #ids = new Map<string, CompiledTask>()
  readonly #told = new Set<string>()
  #room: number

  constructor(work: Work) {
    this.#work = work
    this.#room = tasksOf(work).length + documentLimits.expandedTasks
  }

  /** Nothing more is taken: what would follow need not be made. */
  get isFull(): boolean {
    return this.#room <= 0
  }

  add(placed: Placed): void {
    if (this.isFull || !this.#mayStand(placed)) return
    this.#ids.set(placed.id, placed.compiled)
    this.placed.push(placed)
    this.#room -= 1
    if (!this.isFull) return
    const message = `the tasks expand to more than ${documentLimits.expandedTasks}`
    this.refuse(['spec', 'tasks'], message, 'expand fewer items, or nest fewer sub-workflows')
  }

  /** Tells a fault; one that many expansions of one place have is told once. */
  refuse(path: Path, message: string, help: string, severity: 'error' | 'warning' = 'error'): void {
    const key = `${showPath(path)} ${message}`
    if (this.#told.has(key)) return
    this.#told.add(key)
    this.#work.reporter.report(path, { code: 'schema_violation', severity, message, help })
  }

  #mayStand(placed: Placed): boolean {
    const { id, compiled } = placed
    const first = this.#ids.get(id)
    if (first !== undefined) {
      // Two of one name in one list were told when they were collected.
      if (isExpanded(placed) || first.task.id !== compiled.task.id)
        this.#work.reporter.report([...compiled.path, 'id'], {
          code: 'duplicate_task',
          message: `\`${compiled.task.id}\` expands to \`${id}\`, which ${showPath(first.path)} is called too`,
          help: 'give one of them another id',
        })
      return false
    }
    if (id.length <= bounds.nameCharacters) return true
    const message = `\`${id.slice(0, 80)}…\` has ${id.length} characters; an expanded id has at most ${bounds.nameCharacters}`
    this.refuse([...compiled.path, 'id'], message, 'shorten the ids that it is made of')
    return false
  }
}
