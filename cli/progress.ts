import type { ProgressEvent } from '../runner/index.ts'
import type { Context } from './command.ts'
import type { Style } from './output/text.ts'

const styles: { readonly [state: string]: Style } = {
  succeeded: 'green',
  skipped: 'dim',
  failed: 'red',
  denied: 'red',
  uncertain: 'red',
  cancelled: 'yellow',
}

/** Tells a person what is going on, line by line. The runner has redacted every text. */
export function showProgress({ tell }: Pick<Context, 'tell'>): (event: ProgressEvent) => void {
  const lines = new OutputLines(tell)
  return event => {
    if (event.type === 'output') lines.add(event.task, event.stream, event.text)
    else {
      if (event.type === 'task.ended') lines.end(event.task)
      show(tell, event)
    }
  }
}

/** Child output as whole lines: it comes in pieces that end anywhere. */
class OutputLines {
  readonly #tell: Context['tell']
  readonly #open = new Map<string, Map<'stdout' | 'stderr', string>>()

  constructor(tell: Context['tell']) {
    this.#tell = tell
  }

  add(task: string, stream: 'stdout' | 'stderr', text: string): void {
    const open = this.#open.get(task) ?? new Map<'stdout' | 'stderr', string>()
    const lines = ((open.get(stream) ?? '') + text).split('\n')
    const last = lines.pop() ?? ''
    for (const line of lines) this.#say(task, line)
    const isLong = last.length > lineLimit
    if (isLong) this.#say(task, last)
    this.#open.set(task, open.set(stream, isLong ? '' : last))
  }

  end(task: string): void {
    for (const rest of this.#open.get(task)?.values() ?? []) if (rest !== '') this.#say(task, rest)
    this.#open.delete(task)
  }

  #say(task: string, line: string): void {
    this.#tell([['dim', `${task} | `], line])
  }
}

/** A line longer than this is shown in parts, as it comes. */
const lineLimit = 65_536

function show(tell: Context['tell'], event: Exclude<ProgressEvent, { type: 'output' }>): void {
  switch (event.type) {
    case 'task.started':
      tell([['bold', event.task], ` ${event.kind}`])
      break
    case 'decision':
      if (event.outcome !== 'allow') tell([['bold', event.task], ` ${event.outcome}: ${event.reason}`])
      break
    case 'task.ended': {
      const why = event.message === '' ? '' : `: ${event.message}`
      tell([
        ['bold', event.task],
        ' ',
        [styles[event.state] ?? 'dim', event.state],
        ` in ${event.milliseconds} ms${why}`,
      ])
      break
    }
    case 'restored':
      tell(`restored ${event.path}`)
      break
    case 'warning':
      tell([['yellow', 'warning'], `: ${event.message}`])
  }
}
