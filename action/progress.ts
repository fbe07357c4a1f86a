import { endGroup, startGroup } from '@actions/core'
import type { ApprovalRecord, Resolution } from '../policy/approval/record.ts'
import type { ProgressEvent } from '../runner/index.ts'
import type { Annotations } from './annotations.ts'
import type { JobLog } from './job-log.ts'

/** What the summary tells about one task. */
export interface TaskLine {
  task: string
  kind: string
  state: string
  milliseconds: number
  /** Decisions as they were made, `allow`, `ask: reason`, `deny: reason`. */
  decisions: string[]
  message: string
}

/** Where a task stands in the document, once the plan is known. */
export type Place = (task: string) => { file: string; line: number; column: number } | undefined

/**
 * Turns the runner's events into the job's log and keeps what the summary needs. The output of a task that runs
 * alone is a group of the log; while several run, each line of output names its task.
 */
export class Progress {
  readonly #log: JobLog
  readonly #annotations: Annotations
  readonly #tasks = new Map<string, TaskLine>()
  readonly #running = new Set<string>()
  #grouped: string | null = null
  #place: Place = () => undefined
  #approvals: ApprovalRecord[] = []

  constructor(log: JobLog, annotations: Annotations) {
    this.#log = log
    this.#annotations = annotations
  }

  place(place: Place): void {
    this.#place = place
  }

  /** Items that people were asked about before this attempt, and what they said. */
  asked(approvals: readonly ApprovalRecord[]): void {
    this.#approvals = [...approvals]
    for (const { task, resolution } of approvals)
      if (resolution !== null) this.#log.line(`${task}: ${verdict(resolution)}`)
  }

  approvals(): ApprovalRecord[] {
    return this.#approvals
  }

  tasks(): TaskLine[] {
    return [...this.#tasks.values()]
  }

  /** Handed to the runner as its `report`. */
  report(event: ProgressEvent): void {
    if (event.type === 'task.started') this.#started(event.task, event.kind)
    else if (event.type === 'task.ended') this.#ended(event)
    else if (event.type === 'decision') this.#decided(event)
    else if (event.type === 'output') this.#output(event.task, event.text)
    else if (event.type === 'restored') this.#log.line(`restored ${event.path}`)
    else this.#annotations.add({ level: 'warning', message: event.message })
  }

  /** Ends a group that an interrupted task left open. */
  close(): void {
    if (this.#grouped === null) return
    this.#grouped = null
    this.#log.command(endGroup)
  }

  #started(task: string, kind: string): void {
    this.#tasks.set(task, { ...this.#line(task), kind, state: 'running' })
    this.#running.add(task)
    this.close()
    this.#log.line(`${task} (${kind}) started`)
  }

  #decided({ task, outcome, reason }: { task: string; outcome: string; reason: string }): void {
    const text = reason === '' ? outcome : `${outcome}: ${reason}`
    this.#line(task).decisions.push(text)
    this.#log.line(`${task}: ${text}`)
  }

  #ended({ task, state, milliseconds, message }: Extract<ProgressEvent, { type: 'task.ended' }>): void {
    const line = this.#line(task)
    Object.assign(line, { state, milliseconds, message })
    this.#running.delete(task)
    this.close()
    this.#log.line(`${task} ${state} in ${milliseconds} ms${message === '' ? '' : `: ${message}`}`)
    if (['failed', 'denied', 'uncertain'].includes(state))
      this.#annotations.add({
        level: 'error',
        message: message || state,
        title: `${task} ${state}`,
        ...this.#place(task),
      })
  }

  #output(task: string, text: string): void {
    if (this.#running.size > 1) {
      this.#log.foreign(text.replace(/^(?=[^\n])/gm, `[${task}] `))
      return
    }
    if (this.#grouped === null) this.#log.command(() => startGroup(`${task} output`))
    this.#grouped = task
    this.#log.foreign(text)
  }

  #line(task: string): TaskLine {
    const known = this.#tasks.get(task)
    if (known !== undefined) return known
    const line = { task, kind: '', state: 'pending', milliseconds: 0, decisions: [], message: '' }
    this.#tasks.set(task, line)
    return line
  }
}

/** `approved by alice, bob: reason`. */
export function verdict({ outcome, by, reason }: Resolution): string {
  const who = by.length === 0 ? '' : ` by ${by.map(person => person.login).join(', ')}`
  return `${outcome}${who}${reason === '' ? '' : `: ${reason}`}`
}
