import type { JsonObject } from '../../json.ts'
import type { BoundNames } from '../expand/bindings.ts'
import type { CompiledTask, TaskList } from './work.ts'

/** Who reads: a task, or final outputs, which may read every task of their list. */
export interface Reader {
  list: TaskList
  task: CompiledTask | null
  /** Its own variables, which may hold templates; null where no variable may be read. */
  own: JsonObject | null
  /** Variables that expansion binds. */
  bound: BoundNames
  /** `items`: known before the run exists, so from inputs and variables only; `guard`: the `while` of a loop; `compensation`: it may read the task's own output. */
  as?: 'items' | 'guard' | 'compensation'
}
