import { sha256 } from '../../canonical.ts'
import { inWorkspace } from '../compile/in-workspace.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { documentLimits } from '../limits.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import { placeAt } from '../yaml/places.ts'
import type { Path } from '../yaml/tree.ts'
import { type PackFile, type ParsedPack, parsePack } from './parse.ts'
import { rangeHelp, type Versions } from './versions.ts'

/** At most so many packs in all, and so many characters in all of their files together. */
const packLimit = 64
const packCharacters = 16_777_216

/** A pack whose definitions a document may use. */
export interface LoadedPack extends ParsedPack, Pick<PackFile, 'tree' | 'reporter'> {
  name: string
  /** Workspace-relative. */
  file: string
  /** Where it was first named. */
  at: Path
  by: Pick<PackFile, 'reporter'>
}

/** The packs of a document, those that it declares first, in order. */
export interface Packs {
  loaded: LoadedPack[]
  /** Declared names that give nothing, for reasons that were reported. */
  unusable: ReadonlySet<string>
  /** Workspace-relative names of the files of all of them, there or not. */
  files: string[]
  /** What is wrong in those files, as far as it is known by now. */
  diagnostics(): Diagnostic[]
}

/** One mention of a pack: by the document, or by a pack that depends on it. */
interface Wanted {
  name: string
  version: string
  /** As written, relative to the document's directory whoever names it. */
  source: string
  integrity: string | undefined
  /** Where it is named. */
  at: Path
  by: Pick<PackFile, 'reporter'>
  /** Name of the pack that wants it, null for the document. */
  dependent: string | null
}

type Files = { readonly [path: string]: string }

/** Workspace-relative names of the files of packs, as far as they are known from `files`. */
export function packFiles(document: WorkflowDocument, files: Files): string[] {
  if (document.workflow.spec.packs.length === 0) return []
  return loadPacks(document, files, createReporter(document.tree, document.file), null).files
}

/**
 * Finds, checks and reads every pack of a document; what cannot be used is reported where it is named, or in it. Without
 * `versions` only to learn which files there are: no version is checked.
 */
export function loadPacks(
  document: WorkflowDocument,
  files: Files,
  reporter: Reporter,
  versions: Versions | null,
): Packs {
  const loading = new Loading(document, files, versions)
  const { packs } = document.workflow.spec
  const declared = packs.map(({ name, version, source, integrity }, index): Wanted => {
    const at = ['spec', 'packs', index]
    return { name, version, source: source.path, integrity, at, by: { reporter }, dependent: null }
  })
  loading.add(declared)
  loading.reportCycles()
  return loading
}

class Loading implements Packs {
  readonly unusable = new Set<string>()
  readonly #document: WorkflowDocument
  readonly #files: Files
  readonly #versions: Versions | null
  readonly #known = new Map<string, { wanted: Wanted; path: string | null; pack: LoadedPack | null }>()
  readonly #read = new Map<string, PackFile>()
  readonly #mentions: Wanted[] = []
  #room = packCharacters

  constructor(document: WorkflowDocument, files: Files, versions: Versions | null) {
    this.#document = document
    this.#files = files
    this.#versions = versions
  }

  get loaded(): LoadedPack[] {
    return [...this.#known.values()].flatMap(({ pack }) => (pack === null ? [] : [pack]))
  }

  get files(): string[] {
    return [...new Set([...this.#known.values()].flatMap(({ path }) => (path === null ? [] : [path])))]
  }

  diagnostics(): Diagnostic[] {
    return [...this.#read].flatMap(([file, { tree, syntax, reporter }]) => [
      ...syntax.map(({ offset, message, help }): Diagnostic => {
        const place = placeAt(tree, offset)
        return { code: 'yaml_syntax', severity: 'error', message, file, ...place, path: '', help }
      }),
      ...reporter.diagnostics(),
    ])
  }

  /** Breadth first: what the document declares stands before what packs name. */
  add(wanted: readonly Wanted[]): void {
    let open = wanted
    while (open.length > 0) {
      const next: Wanted[] = []
      for (const one of open) {
        const before = this.#known.get(one.name)
        if (before !== undefined) this.#again(one, before.wanted)
        else if (this.#known.size >= packLimit) {
          refuse(one, [], `a document has at most ${packLimit} packs, those that they depend on included`, '')
          this.unusable.add(one.name)
        } else next.push(...this.#first(one))
      }
      open = next
    }
    // A range is held against the version that was found, whoever named it and whoever brought it.
    for (const one of this.#mentions) this.#checkVersion(one)
    const pinned = new Set(this.#mentions.flatMap(({ name, integrity }) => (integrity === undefined ? [] : [name])))
    for (const one of this.#mentions) if (!pinned.has(one.name)) warnUnpinned(one, pinned)
  }

  /** Gives the packs that this one depends on. */
  #first(wanted: Wanted): Wanted[] {
    const { name } = wanted
    this.#mentions.push(wanted)
    const path = inWorkspace(this.#document.directory, wanted.source)
    const pack = path === null ? this.#outside(wanted) : this.#open(wanted, path)
    this.#known.set(name, { wanted, path, pack })
    if (pack === null) {
      this.unusable.add(name)
      return []
    }
    if (pack.manifest.name !== name) {
      const message = `the pack in ${pack.file} is \`${pack.manifest.name}\`, not \`${name}\``
      const below = wanted.dependent === null ? ['name'] : []
      refuse(wanted, below, message, 'write the name that its manifest has', 'missing_reference')
    }
    return Object.entries(pack.manifest.dependencies).map(([dependency, { version, source, integrity }]) => ({
      name: dependency,
      version,
      source: source.path,
      integrity,
      at: ['dependencies', dependency],
      by: pack,
      dependent: name,
    }))
  }

  #again(wanted: Wanted, first: Wanted): void {
    if (wanted.dependent === null) {
      refuse(wanted, ['name'], `pack \`${wanted.name}\` is declared twice`, 'declare it once')
      return
    }
    this.#mentions.push(wanted)
    const { directory } = this.#document
    if (inWorkspace(directory, wanted.source) !== inWorkspace(directory, first.source)) {
      const message = `pack \`${wanted.dependent}\` takes \`${wanted.name}\` from ${wanted.source}, ${whose(first)} from ${first.source}`
      refuse(wanted, ['source', 'path'], message, 'one pack of a name comes from one file')
    }
    const { pack } = this.#known.get(wanted.name) ?? {}
    if (pack !== null && pack !== undefined) this.#checkIntegrity(wanted, pack.file)
  }

  #outside(wanted: Wanted): null {
    const message = `\`${wanted.source}\` is not a relative path inside the workspace`
    const help = 'name a file below the directory of the document, without `..`'
    refuse(wanted, ['source', 'path'], message, help)
    return null
  }

  #open(wanted: Wanted, path: string): LoadedPack | null {
    const text = Object.hasOwn(this.#files, path) ? this.#files[path] : undefined
    if (text === undefined) {
      const message = `pack \`${wanted.name}\`: the file ${path} cannot be read`
      const help = 'paths of packs are relative to the directory of the document'
      refuse(wanted, ['source', 'path'], message, help, 'missing_reference')
      return null
    }
    this.#room -= text.length
    if (this.#room < 0) {
      refuse(wanted, [], `the packs of a document hold more than ${packCharacters} characters`, '')
      return null
    }
    if (text.length <= documentLimits.bytes && !this.#checkIntegrity(wanted, path)) return null
    const read = this.#read.get(path) ?? parsePack(text, path, this.#versions)
    this.#read.set(path, read)
    const { pack, tree, reporter } = read
    const { name, at, by } = wanted
    return pack === null ? null : { ...pack, name, file: path, tree, reporter, at, by }
  }

  /** Whether the file's bytes are those that were reviewed; the text is theirs exactly, since only UTF-8 is read. */
  #checkIntegrity(wanted: Wanted, path: string): boolean {
    const { integrity, name } = wanted
    const actual = `sha256:${sha256(this.#files[path] ?? '')}`
    if (integrity === undefined || integrity === actual) return true
    refuse(
      wanted,
      ['integrity'],
      `pack \`${name}\`: ${path} has ${actual}, not the ${integrity} that its integrity names`,
      'review what changed in the file, then write its new SHA-256, or restore the file',
      'policy_denied',
    )
    return false
  }

  #checkVersion(wanted: Wanted): void {
    const { name, version } = wanted
    const pack = this.#known.get(name)?.pack ?? null
    const has = pack?.manifest.version
    const fits = this.#versions?.inRange(has ?? '0.0.0', version)
    if (fits === null)
      refuse(wanted, ['version'], `version of pack \`${name}\` is \`${version}\`, which is no range`, rangeHelp)
    else if (fits === false && has !== undefined) {
      const message = `${whose(wanted)} asks for \`${name}\` ${version}; ${pack?.file ?? ''} is ${has}`
      refuse(wanted, ['version'], message, 'use a pack of that version, or change the range', 'missing_reference')
    }
  }

  reportCycles(): void {
    const done = new Set<string>()
    const visit = (name: string, open: readonly string[]): void => {
      const pack = this.#known.get(name)?.pack ?? null
      if (pack === null || done.has(name)) return
      for (const next of Object.keys(pack.manifest.dependencies)) {
        const from = [...open, name].indexOf(next)
        if (from < 0) visit(next, [...open, name])
        else {
          const circle = [...open, name, next].slice(from)
          pack.reporter.report(['dependencies', next], {
            code: 'dependency_cycle',
            message: `packs depend on each other in a circle: ${circle.join(' -> ')}`,
            help: 'remove one of these dependencies',
            on: 'key',
          })
        }
      }
      done.add(name)
    }
    for (const name of this.#known.keys()) visit(name, [])
  }
}

function whose({ dependent }: Wanted): string {
  return dependent === null ? 'the document' : `pack \`${dependent}\``
}

/** A pinned pack would otherwise run on whatever the pack that it depends on has become. */
function warnUnpinned({ name, at, by, dependent }: Wanted, pinned: ReadonlySet<string>): void {
  if (dependent === null || !pinned.has(dependent)) return
  by.reporter.report(at, {
    code: 'policy_denied',
    severity: 'warning',
    message: `pack \`${dependent}\` is pinned by its integrity, \`${name}\` that it depends on is not`,
    help: `declare \`${name}\` in spec.packs with its integrity`,
  })
}

function refuse(
  { at, by }: Wanted,
  below: Path,
  message: string,
  help: string,
  code: 'schema_violation' | 'policy_denied' | 'missing_reference' = 'schema_violation',
): void {
  by.reporter.report([...at, ...below], { code, message, help })
}
