import { Composer, type Composer as ComposerType, type CST, type Document, Lexer, type Node, Parser } from 'yaml'
import { documentLimits } from '../limits.ts'
import { quickValue } from './quick.ts'
import { bareTree, type YamlFault, type YamlTree } from './tree.ts'

export interface ReadResult {
  /** null where the text is no single YAML document. */
  tree: YamlTree | null
  faults: YamlFault[]
}

/**
 * Reads one YAML 1.2 document into its syntax tree. Linear in the text, and bounded: reading stops at the hundredth
 * fault and at more values than a document may have, before the tree is composed. `quickly` false always composes, so
 * that a test can hold both ways together.
 */
export function readYaml(text: string, quickly = true): ReadResult {
  const refused = refuseText(text)
  if (refused !== null) return { tree: null, faults: [refused] }

  const faults: YamlFault[] = []
  try {
    const tokens = tokenize(text, faults)
    const document = onlyDocument(tokens)
    const quick = !quickly || faults.length > 0 || document === null ? undefined : quickValue(document)
    if (quick !== undefined && document !== null) {
      let composed: Document.Parsed | null = null
      const root = (): Node | null => {
        composed ??= compose(text, tokens, [])
        return composed?.contents ?? null
      }
      const tree: YamlTree = { text, root, quick: { ...quick, document }, targets: new Map(), lineStarts: [] }
      return { tree, faults }
    }
    const composed = compose(text, tokens, faults)
    if (faults.length > 0 || composed === null) return { tree: null, faults }
    return { tree: { ...bareTree(text), root: () => composed.contents }, faults }
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

function tokenize(text: string, faults: YamlFault[]): CST.Token[] {
  const parser = new Parser()
  const guard = lexemeGuard(parser, faults)
  const tokens: CST.Token[] = []
  const take = (token: CST.Token): void => {
    if (token.type === 'error') report(faults, fault(token.offset, token.message, syntaxHelp))
    else tokens.push(token)
  }
  for (const lexeme of new Lexer().lex(text)) {
    guard(lexeme)
    for (const token of parser.next(lexeme)) take(token)
  }
  for (const token of parser.end()) take(token)
  return tokens
}

/** The document of a stream that has one and beside it only space and comments. */
function onlyDocument(tokens: readonly CST.Token[]): CST.Document | null {
  let only: CST.Document | null = null
  for (const token of tokens) {
    if (token.type === 'document' && only === null) only = token
    else if (token.type !== 'comment' && token.type !== 'newline' && token.type !== 'space') return null
  }
  return only
}

function compose(text: string, tokens: readonly CST.Token[], faults: YamlFault[]): Document.Parsed | null {
  const composer = new Composer({
    uniqueKeys: false,
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    logLevel: 'error',
  })
  collectFaults(composer, faults)
  const documents: Document.Parsed[] = []
  for (const token of tokens) for (const document of composer.next(token)) documents.push(document)
  for (const document of composer.end(true, text.length)) documents.push(document)

  const [first, second] = documents
  if (first === undefined) return null
  if (second !== undefined) {
    report(faults, fault(second.range[0], 'the file holds a second document', 'keep one document in one file'))
  }
  if (first.directives?.yaml.explicit && first.directives.yaml.version !== '1.2') {
    const { version } = first.directives.yaml
    report(faults, fault(0, `YAML ${version} is not read`, 'remove the %YAML line: documents are YAML 1.2'))
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
    if (faults.length >= documentLimits.faults) throw new Enough()
    if (code === 'RESOURCE_EXHAUSTION') {
      report(faults, fault(offsetOf(source), tooDeep, 'move data into files'))
      return
    }
    const help = code === 'TAB_AS_INDENT' ? 'indent with spaces' : syntaxHelp
    report(faults, fault(offsetOf(source), message, help))
  }
}

/** The message is the YAML library's own, and names what it met there. */
const syntaxHelp =
  'see that indentation, quotes and brackets here are whole; quote a text that holds `: ` or begins with a sign'

type ErrorSource = number | readonly number[] | { offset: number }

function offsetOf(source: ErrorSource): number {
  if (typeof source === 'number') return source
  return 'offset' in source ? source.offset : (source[0] ?? 0)
}

function report(faults: YamlFault[], found: YamlFault): void {
  faults.push(found)
  if (faults.length >= documentLimits.faults) throw new Enough()
}

/**
 * Stops where a text cannot become a document any more, long before the composer would be done with it: at more values
 * than it may have (each stands behind a `:`, a `-` or a comma, and is a scalar, announced by U+001F, a flow collection or
 * an alias, as each key is), at deeper nesting, and at the hundredth tag or directive, which are refused anyway.
 */
function lexemeGuard(parser: Parser, faults: YamlFault[]): (lexeme: string) => void {
  const most = documentLimits.nodes
  const seen = { nodes: 0, introduced: 0, commas: 0, refused: 0, flow: 0, inLine: 0 }
  const stop = (message: string, help: string): never => {
    report(faults, fault(parser.offset, message, help))
    throw new Enough()
  }
  return lexeme => {
    const code = lexeme.charCodeAt(0)
    if (code === newline) seen.inLine = 0
    else if (code === scalar || code === asterisk) seen.nodes++
    else if (code === openBracket || code === openBrace) {
      seen.nodes++
      seen.flow++
    } else if (code === closeBracket || code === closeBrace) seen.flow = Math.max(0, seen.flow - 1)
    else if (code === comma) seen.commas++
    else if (lexeme.length === 1 && (code === colon || code === dash || code === question)) {
      if (code !== question) seen.introduced++
      if (seen.flow === 0) seen.inLine++
    } else if (code === percent || code === exclamation) seen.refused++
    else return

    if (seen.flow > documentLimits.depth || seen.inLine > documentLimits.depth) stop(tooDeep, 'move data into files')
    if (seen.refused > documentLimits.faults) stop('the document is full of tags or directives', 'remove them')
    if (seen.nodes > 2 * most + 2 || seen.introduced > most || seen.commas > most) {
      stop(`the document has more than ${most} values`, 'move data into files')
    }
  }
}

const tooDeep = `the document is nested deeper than ${documentLimits.depth} levels`

const newline = 0x0a
const scalar = 0x1f
const exclamation = 0x21
const percent = 0x25
const asterisk = 0x2a
const comma = 0x2c
const dash = 0x2d
const colon = 0x3a
const question = 0x3f
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

function fault(offset: number, message: string, help: string): YamlFault {
  return { offset, message, help }
}
