import { inWorkspace } from '../compile/in-workspace.ts'
import type { Diagnostic } from '../diagnostic.ts'
import type { WorkflowDocument } from '../document.ts'
import { documentLimits } from '../limits.ts'
import { createReporter, type Reporter } from '../reporter.ts'
import { placeAt } from '../yaml/places.ts'
import { checkIntegrity, checkVersion, reportCycles } from './checks.ts'
import type { LoadedPack, Packs } from './loaded.ts'
import { type PackFile, parsePack } from './parse.ts'
import type { Versions } from './versions.ts'
import { refuse, type Wanted, warnUnpinned, whose } from './wanted.ts'

/** At most so many packs in all, and so many characters in all of their files together. */
const packLimit = 64
const packCharacters = 16_777_216

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
  reportCycles(loading.names(), name => loading.packOf(name))
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

  names(): Iterable<string> {
    return this.#known.keys()
  }

  packOf(name: string): LoadedPack | null {
    return this.#known.get(name)?.pack ?? null
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
          refuse(
            one,
            [],
            `a document has at most ${packLimit} packs, those that they depend on included`,
            'leave some out',
          )
          this.unusable.add(one.name)
        } else next.push(...this.#first(one))
      }
      open = next
    }
    // A range is held against the version that was found, whoever named it and whoever brought it.
    for (const one of this.#mentions) checkVersion(one, this.packOf(one.name), this.#versions)
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
    const pack = this.packOf(wanted.name)
    if (pack !== null) checkIntegrity(wanted, pack.file, this.#files[pack.file] ?? '')
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
      refuse(wanted, [], `the packs of a document hold more than ${packCharacters} characters`, 'leave some packs out')
      return null
    }
    if (text.length <= documentLimits.bytes && !checkIntegrity(wanted, path, text)) return null
    const read = this.#read.get(path) ?? parsePack(text, path, this.#versions)
    this.#read.set(path, read)
    const { pack, tree, reporter } = read
    const { name, at, by } = wanted
    return pack === null ? null : { ...pack, name, file: path, tree, reporter, at, by }
  }
}
