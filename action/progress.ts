import type { ApprovalRecord, Resolution } from '../policy/approval/record.ts'
import type { DecisionStep } from '../policy/decision/index.ts'
import type { JsonObject } from '../policy/json.ts'
import type { ProgressEvent } from '../runner/index.ts'
import type { Annotations } from './annotations.ts'
import type { JobLog } from './job-log.ts'
import { OutputGroups } from './output-groups.ts'
import type { Pace } from './pace.ts'
import { StillRunning } from './still-running.ts'

/** What the summary tells about one task. */
export interface TaskLine {
  task: string
  kind: string
  state: string
  milliseconds: number
  /** Decisions as they were made, `allow: rules`, `ask: reason`, `deny: reason`. */
  decisions: string[]
  /** Answers of the last decision, each with the rule that gave it. */
  steps: readonly DecisionStep[]
  message: string
  /** What held its effect, and what of it was absent; null where nothing had to. */
  enforcement: JsonObject | null
}

/** Where a task stands in the document, once the plan is known. */
export type Place = (task: string) => { file: string; line: number; column: number } | undefined

/** Turns the runner's events into the job's log and keeps what the summary needs. */
export class Progress {
  readonly #log: JobLog
  readonly #annotations: Annotations
  readonly #tasks = new Map<string, TaskLine>()
  readonly #groups: OutputGroups
  readonly #still: StillRunning
  #place: Place = () => undefined
  #approvals: ApprovalRecord[] = []

  constructor(log: JobLog, annotations: Annotations, pace: Pace) {
    this.#log = log
    this.#annotations = annotations
    this.#groups = new OutputGroups(log)
    this.#still = new StillRunning(pace, text => {
      this.#groups.flush()
      log.line(text)
    })
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
    else if (event.type === 'restored') this.#line(`restored ${event.path}`)
    else this.#annotations.add({ level: 'warning', message: event.message })
  }

  /** Nothing more is told: shows what interrupted tasks said. */
  close(): void {
    this.#still.endAll()
    this.#groups.flush()
  }

  #started(task: string, kind: string): void {
    this.#tasks.set(task, { ...this.#task(task), kind, state: 'running' })
    this.#still.started(task)
    this.#line(`${task} (${kind}) started`)
  }

  #decided({ task, outcome, reason, steps }: Extract<ProgressEvent, { type: 'decision' }>): void {
    const text = reason === '' ? outcome : `${outcome}: ${reason}`
    const line = this.#task(task)
    line.decisions.push(text)
    line.steps = steps
    this.#line(`${task}: ${text}`)
  }

  #ended(event: Extract<ProgressEvent, { type: 'task.ended' }>): void {
    const { task, state, milliseconds, message, enforcement = null } = event
    Object.assign(this.#task(task), { state, milliseconds, message, enforcement })
    this.#still.ended(task)
    this.#groups.end(task)
    this.#line(`${task} ${state} in ${milliseconds} ms${message === '' ? '' : `: ${message}`}`)
    if (['failed', 'denied', 'uncertain'].includes(state))
      this.#annotations.add({
        level: 'error',
        message: message || state,
        title: `${task} ${state}`,
        ...this.#place(task),
      })
  }

  #output(task: string, text: string): void {
    this.#still.heard(task)
    this.#groups.add(task, text)
  }

  /** A line of ours stands in no task's group. */
  #line(text: string): void {
    this.#groups.close()
    this.#log.line(text)
  }

  #task(task: string): TaskLine {
    const known = this.#tasks.get(task)
    if (known !== undefined) return known
    const line: TaskLine = {
      task,
      kind: '',
      state: 'pending',
      milliseconds: 0,
      decisions: [],
      steps: [],
      message: '',
      enforcement: null,
    }
    this.#tasks.set(task, line)
    return line
  }
}

/** `approved by alice, bob: reason`. */
export function verdict({ outcome, by, reason }: Resolution): string {
  const who = by.length === 0 ? '' : ` by ${by.map(person => person.login).join(', ')}`
  return `${outcome}${who}${reason === '' ? '' : `: ${reason}`}`
}
