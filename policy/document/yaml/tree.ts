import type { Alias, Node } from 'yaml'

/** The syntax tree of a document, kept for places; values are made once, by `toValue`. */
export interface YamlTree {
  text: string
  root: Node | null
  /** What each alias stands for, as `toValue` found it. */
  targets: Map<Alias, Node>
  /** Offsets at which lines start, filled at the first question for a place. */
  lineStarts: number[]
}

/** Something that the text itself gets wrong. */
export interface YamlFault {
  /** UTF-16 offset in the text. */
  offset: number
  message: string
  help: string
}

/** Keys and indexes from the root of the document. */
export type Path = readonly (string | number)[]

/** `spec.tasks[0].with`, as diagnostics show it. */
export function showPath(path: Path): string {
  let shown = ''
  for (const step of path) {
    if (typeof step === 'number') shown += `[${step}]`
    else shown += shown === '' ? step : `.${step}`
  }
  return shown
}
