import { effectId } from '../../policy/binding.ts'
import type { CommandOf } from '../commands.ts'
import { type RunChange, refused } from './change.ts'
import { taskRow } from './task.ts'

/** An effect is named by what it is, and belongs to the current attempt of its task. Throws invalid, conflict. */
export function checkIdentity(
  change: RunChange,
  command: CommandOf<'effect.request'> | CommandOf<'effect.pure'>,
): void {
  const { effect, task, attempt, ordinal, operation, inputDigest } = command
  if (effectId({ run: change.run, task, attempt, ordinal, operation, inputDigest }) !== effect) {
    throw refused(
      'invalid',
      `${effect} is not the id of effect ${task}/${attempt}/${ordinal} (${operation}) with this input.`,
    )
  }
  const row = taskRow(change, task)
  if (row.attempt !== attempt) {
    throw refused('conflict', `Task ${task} is at attempt ${row.attempt}; an effect of attempt ${attempt} is refused.`)
  }
}
