import type { Json, JsonObject } from '../../json.ts'
import type { WorkflowDocument } from '../document.ts'
import type { Reporter } from '../reporter.ts'
import { nearest } from '../schema/fields.ts'
import type { Spec } from '../schema/spec.ts'
import type { Task } from '../schema/task.ts'
import type { Path } from '../yaml/tree.ts'
import type { LoadedPack, Packs } from './loaded.ts'

/** Parts of a manifest, and the parts of `spec` that their items become. */
const parts = { actions: 'actions', agents: 'agents', tools: 'tools', workflows: 'subworkflows' } as const
type ManifestPart = keyof typeof parts

/** Where an item of the merged document stands. */
export interface Origin {
  pack: LoadedPack
  /** In its manifest. */
  path: Path
}

/** A document with the definitions of its packs among its own, as `PACK.NAME`. */
export interface Merged {
  document: WorkflowDocument
  /** By part of `spec` and name. */
  origins: ReadonlyMap<string, Origin>
}

/** Puts the items of packs beside the document's own; only definitions, since a pack decides nothing (02). */
export function mergePacks(document: WorkflowDocument, packs: Packs, reporter: Reporter): Merged {
  const { spec } = document.workflow
  const merged = { actions: { ...spec.actions }, agents: { ...spec.agents } }
  const others = { tools: { ...spec.tools }, subworkflows: { ...spec.subworkflows } }
  const origins = new Map<string, Origin>()
  const lost = new Set(document.lost)
  for (const name of packs.unusable) lost.add(`packs.${name}`)
  const written = writtenParts(document)

  for (const pack of packs.loaded) {
    const { manifest, name } = pack
    const names = new Names(pack, packs, lost)
    const take = (part: ManifestPart, item: string): string | null => {
      const full = `${name}.${item}`
      const into = parts[part]
      const origin: Origin = { pack, path: [part, item] }
      if (isTaken(full, into, spec, origins, origin, reporter)) return null
      origins.set(`${into} ${full}`, origin)
      const own = pack.written[part]
      if (isObject(own)) written[into][full] = own[item] ?? {}
      return full
    }
    for (const [item, action] of Object.entries(manifest.actions)) {
      const full = take('actions', item)
      if (full !== null) merged.actions[full] = action
    }
    for (const [item, agent] of Object.entries(manifest.agents)) {
      const full = take('agents', item)
      const tools = agent.tools.map((tool, index) => names.tool(tool, ['agents', item, 'tools', index]))
      if (full !== null) merged.agents[full] = { ...agent, tools }
    }
    for (const [item, tool] of Object.entries(manifest.tools)) {
      const full = take('tools', item)
      if (full !== null) others.tools[full] = tool
    }
    for (const [item, workflow] of Object.entries(manifest.workflows)) {
      const full = take('workflows', item)
      const tasks = workflow.tasks.map((task, index) => names.task(task, ['workflows', item, 'tasks', index]))
      if (full !== null) others.subworkflows[full] = { ...workflow, tasks }
    }
    checkProviders(pack, spec)
  }
  const value = { ...document.value, spec: { ...specOf(document), ...written } }
  const workflow = { ...document.workflow, spec: { ...spec, ...merged, ...others } }
  return { document: { ...document, value, workflow, lost }, origins }
}

/** Rewrites what the items of one pack name: its own items, and those of packs that it depends on; nothing else. */
class Names {
  readonly #pack: LoadedPack
  readonly #loaded: ReadonlyMap<string, LoadedPack>
  readonly #lost: Set<string>

  constructor(pack: LoadedPack, packs: Packs, lost: Set<string>) {
    this.#pack = pack
    this.#loaded = new Map(packs.loaded.map(one => [one.name, one]))
    this.#lost = lost
  }

  task(task: Task, path: Path): Task {
    const { compensate } = task
    const uses = this.#uses(task.uses, [...path, 'uses'])
    if (compensate === undefined) return { ...task, uses }
    return {
      ...task,
      uses,
      compensate: { ...compensate, uses: this.#uses(compensate.uses, [...path, 'compensate', 'uses']) },
    }
  }

  tool(tool: string, path: Path): string {
    if (tool.startsWith('mcp:')) return tool
    return tool.startsWith('action:') ? this.#uses(tool, path) : this.#full('tools', tool, path)
  }

  #uses(uses: string, path: Path): string {
    const colon = uses.indexOf(':')
    const kind = uses.slice(0, Math.max(0, colon))
    const part = kind === 'action' ? 'actions' : kind === 'agent' ? 'agents' : kind === 'workflow' ? 'workflows' : null
    return part === null ? uses : `${kind}:${this.#full(part, uses.slice(colon + 1), path)}`
  }

  /** Whether a pack has an item of that full name; of one that could not be loaded it is not known, and reported there. */
  #has(dependency: string, part: ManifestPart, full: string): boolean {
    if (!full.startsWith(`${dependency}.`)) return false
    const pack = this.#loaded.get(dependency)
    // Not by its beginning alone: another pack, or the document, may have a name that begins alike.
    return pack === undefined || Object.hasOwn(pack.manifest[part], full.slice(dependency.length + 1))
  }

  #full(part: ManifestPart, name: string, path: Path): string {
    const { manifest, reporter, name: pack } = this.#pack
    const full = `${pack}.${name}`
    if (Object.hasOwn(manifest[part], name)) return full
    if (Object.keys(manifest.dependencies).some(dependency => this.#has(dependency, part, name))) return name
    const close = nearest(name, Object.keys(manifest[part]))
    reporter.report(path, {
      code: 'missing_reference',
      message: `pack \`${pack}\` has no \`${name}\` in ${part}, and depends on no pack that does`,
      help:
        close === null
          ? 'a pack uses its own items and those of its dependencies, never those of the document'
          : `did you mean \`${close}\`?`,
    })
    this.#lost.add(`${parts[part]}.${full}`)
    return full
  }
}

/** Whether a name is there already; reports it. */
function isTaken(
  full: string,
  into: (typeof parts)[ManifestPart],
  spec: Spec,
  origins: ReadonlyMap<string, Origin>,
  { pack, path }: Origin,
  reporter: Reporter,
): boolean {
  const other = origins.get(`${into} ${full}`)
  const code = 'schema_violation'
  if (Object.hasOwn(spec[into], full)) {
    const message = `\`${full}\` is defined here and by pack \`${pack.name}\``
    reporter.report(['spec', into, full], { code, message, help: 'give this one another name', on: 'key' })
  } else if (other !== undefined) {
    const message = `\`${full}\` is defined here and by pack \`${other.pack.name}\``
    pack.reporter.report(path, { code, message, help: 'rename one of them', on: 'key' })
  } else return false
  return true
}

function checkProviders({ name, manifest, reporter }: LoadedPack, { providers }: Spec): void {
  const known = new Set(Object.entries(providers).flatMap(([provider, { kind }]) => [provider, kind]))
  for (const [index, provider] of manifest.providers.entries()) {
    if (known.has(provider)) continue
    reporter.report(['providers', index], {
      code: 'missing_reference',
      message: `pack \`${name}\` needs the provider \`${provider}\`, which the document does not define`,
      help: `define it in spec.providers of the document`,
    })
  }
}

function specOf({ value }: WorkflowDocument): JsonObject {
  const spec = value['spec']
  return isObject(spec) ? spec : {}
}

type Written = { [Part in (typeof parts)[ManifestPart]]: JsonObject }

function writtenParts(document: WorkflowDocument): Written {
  const spec = specOf(document)
  const own = (part: keyof Written): JsonObject => {
    const value = spec[part]
    return isObject(value) ? { ...value } : {}
  }
  return { actions: own('actions'), agents: own('agents'), tools: own('tools'), subworkflows: own('subworkflows') }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
