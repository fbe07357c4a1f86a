import { Composer, type Composer as ComposerType, type Document, Lexer, Parser } from 'yaml'
import { documentLimits } from '../limits.ts'
import type { YamlFault, YamlTree } from './tree.ts'

export interface ReadResult {
  /** null where the text is no single YAML document. */
  tree: YamlTree | null
  faults: YamlFault[]
}

/**
 * Reads one YAML 1.2 document into its syntax tree. Linear in the text, and bounded: reading stops at the hundredth
 * fault and at more values than a document may have, before the tree is composed.
 */
export function readYaml(text: string): ReadResult {
  const refused = refuseText(text)
  if (refused !== null) return { tree: null, faults: [refused] }

  const faults: YamlFault[] = []
  try {
    const document = compose(text, faults)
    if (faults.length > 0 || document === null) return { tree: null, faults }
    return { tree: { text, root: document.contents, targets: new Map(), lineStarts: [] }, faults }
  } catch (error) {
    if (!(error instanceof Enough)) throw error
    return { tree: null, faults }
  }
}

/** Thrown to leave the composer once there is nothing more to learn. */
class Enough extends Error {}

function refuseText(text: string): YamlFault | null {
  const bytes = utf8Length(text)
  if (bytes > documentLimits.bytes) {
    return fault(
      0,
      `the document is larger than 1 MiB (${documentLimits.bytes} bytes)`,
      'move data into files or split it',
    )
  }
  if (text.startsWith('\uFEFF')) {
    return fault(0, 'the document starts with a byte order mark', 'save the file as UTF-8 without a byte order mark')
  }
  const control = text.search(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/)
  if (control >= 0) {
    const code = text.charCodeAt(control).toString(16).padStart(4, '0')
    return fault(
      control,
      `the character U+${code.toUpperCase()} cannot stand in a document`,
      'write it as an escape in double quotes',
    )
  }
  if (!text.isWellFormed()) return fault(0, 'the document is not well-formed Unicode', 'save the file as UTF-8')
  return null
}

/** Bytes of the text in UTF-8; more than the limit as soon as it is known to be more. */
function utf8Length(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length && bytes <= documentLimits.bytes; at++) {
    const code = text.charCodeAt(at)
    // A surrogate pair is two units and four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1
  }
  return bytes
}

function compose(text: string, faults: YamlFault[]): Document.Parsed | null {
  const composer = new Composer({
    uniqueKeys: false,
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    logLevel: 'error',
  })
  collectFaults(composer, faults)
  const parser = new Parser()
  const documents: Document.Parsed[] = []
  let values = 0

  const feed = (token: ReturnType<Parser['next']> extends Generator<infer Token> ? Token : never): void => {
    if (token.type === 'error') report(faults, fault(token.offset, token.message, ''))
    else for (const document of composer.next(token)) documents.push(document)
  }
  for (const lexeme of new Lexer().lex(text)) {
    if (startsValue(lexeme) && ++values > 2 * documentLimits.nodes + 2) {
      report(faults, fault(0, `the document has more than ${documentLimits.nodes} values`, 'move data into files'))
      throw new Enough()
    }
    for (const token of parser.next(lexeme)) feed(token)
  }
  for (const token of parser.end()) feed(token)
  for (const document of composer.end(true, text.length)) documents.push(document)

  const [first, second] = documents
  if (first === undefined) return null
  if (second !== undefined) {
    report(faults, fault(second.range[0], 'the file holds a second document', 'keep one document in one file'))
  }
  if (first.directives?.yaml.explicit && first.directives.yaml.version !== '1.2') {
    report(
      faults,
      fault(0, `YAML ${first.directives.yaml.version} is not read`, 'remove the %YAML line: documents are YAML 1.2'),
    )
  }
  return first
}

/**
 * The composer keeps every error and goes on, which is quadratic in memory and time for hostile text. Its error handler
 * is not part of the published interface; a test with a million faults holds this.
 */
function collectFaults(composer: ComposerType, faults: YamlFault[]): void {
  const open = composer as unknown as {
    onError: (source: ErrorSource, code: string, message: string, warning?: boolean) => void
  }
  open.onError = (source, code, message, warning) => {
    // An unknown tag is only a warning to the composer; the walk over the values refuses every tag.
    if (warning === true) return
    const help = code === 'TAB_AS_INDENT' ? 'indent with spaces' : ''
    report(faults, fault(offsetOf(source), message, help))
  }
}

type ErrorSource = number | readonly number[] | { offset: number }

function offsetOf(source: ErrorSource): number {
  if (typeof source === 'number') return source
  return 'offset' in source ? source.offset : (source[0] ?? 0)
}

function report(faults: YamlFault[], found: YamlFault): void {
  faults.push(found)
  if (faults.length >= documentLimits.faults) throw new Enough()
}

/** Scalars (announced by U+001F), flow collections and aliases: at least every second value of any document. */
function startsValue(lexeme: string): boolean {
  const code = lexeme.charCodeAt(0)
  return code === 0x1f || code === 0x5b || code === 0x7b || code === 0x2a
}

function fault(offset: number, message: string, help: string): YamlFault {
  return { offset, message, help }
}
