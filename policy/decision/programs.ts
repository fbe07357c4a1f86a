import type { PassedPlace, ProcessFact } from './facts.ts'
import type { Refusal } from './refusal.ts'

/** One list of programs that may run: file names from trusted places, and exact files wherever they lie. */
export interface ProgramRules {
  field: 'processAllowlist' | 'secretProcessAllowlist'
  names: ReadonlySet<string>
  /** Real paths. */
  files: ReadonlySet<string>
}

const places = {
  writable_root: 'lies under a writable root',
  temporary: 'lies in a temporary directory',
  others_writable: 'lies in or below a directory that others may write',
} as const

/** Why a program may not run, null where it may: by its name, its places, and those of what would load it. */
export function refusedProgram(rules: ProgramRules, fact: ProcessFact & { known: true }): Refusal | null {
  return refusedFile(rules, fact) ?? refusedInterpreter(rules, fact)
}

function refusedFile(rules: ProgramRules, fact: ProcessFact & { known: true }): Refusal | null {
  const { field, names, files } = rules
  if (files.has(fact.realPath)) return null
  if (names.has(fact.basename)) return refusedPlace(rules, fact.realPath, fact.passed)
  const detail = `neither \`${fact.basename}\` nor ${fact.realPath} is on the list`
  return { rule: field, field, detail, change: `add \`${fact.basename}\`` }
}

/** An entry that names a script says nothing about what runs it: that must be trusted by its place, or be an entry too. */
function refusedInterpreter(rules: ProgramRules, { interpreters }: ProcessFact & { known: true }): Refusal | null {
  for (const { path, passed } of interpreters) {
    const refusal = rules.files.has(path) ? null : refusedPlace(rules, path, passed)
    if (refusal !== null) return refusal
  }
  return null
}

function refusedPlace({ field }: ProgramRules, file: string, passed: PassedPlace[]): Refusal | null {
  if (passed.length === 0) {
    const detail = 'the places that lead to the file are not known'
    return { rule: 'missing_facts', field: null, detail, change: 'report this: the runner must establish them' }
  }
  const untrusted = passed.find(place => place.untrusted !== '')
  if (untrusted === undefined || untrusted.untrusted === '') return null
  const detail = `${untrusted.path} ${places[untrusted.untrusted] ?? 'is not trusted'}, where its content could be replaced`
  return { rule: 'untrusted_program', field, detail, change: `add the exact file \`${file}\`` }
}
