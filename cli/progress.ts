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
export function showProgress({ tell }: Pick<Context, 'tell'>, event: ProgressEvent): void {
  switch (event.type) {
    case 'task.started':
      tell([['bold', event.task], ` ${event.kind}`])
      break
    case 'decision':
      if (event.outcome !== 'allow') tell([['bold', event.task], ` ${event.outcome}: ${event.reason}`])
      break
    case 'output':
      for (const line of event.text.replace(/\n$/, '').split('\n')) tell([['dim', `${event.task} | `], line])
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
