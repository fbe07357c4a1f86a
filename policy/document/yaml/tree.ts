import type { Alias, CST, Node } from 'yaml'
import type { Json } from '../../json.ts'

/** The syntax of a document, kept for places; values are made once, by `toValue`. */
export interface YamlTree {
  text: string
  /** The document's node; composed at the first call where the value was had without it. */
  root(): Node | null
  /** Value and tokens of a plainly written document; null where the value is made from the nodes. */
  quick: { value: Json; document: CST.Document } | null
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

/** A tree without nodes, for the places of faults that stand in the way of one. */
export function bareTree(text: string): YamlTree {
  return { text, root: () => null, quick: null, targets: new Map(), lineStarts: [] }
}
