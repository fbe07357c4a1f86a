import type { Binding } from '../../policy/binding.ts'
import { digest } from '../../policy/canonical.ts'
import type { ContainerFact, ProcessFact, SecretHelperFact } from '../../policy/decision/facts.ts'
import type { Json, JsonObject } from '../../policy/json.ts'

/** Of more argument files than this, only the digest of their digests is recorded. */
const filesListed = 200

/**
 * What an approval of a process is bound to, each under its own name: `executable`, `interpreter` (of a script), `cwd`,
 * `argv_files`, `environment` (name and digest of each value that the job gives), `secret_files` (place and digest of each
 * value), `secret_helpers` (program and what it is asked, since its value is only known once it has run).
 */
export function processBinding(fact: ProcessFact & { known: true }): Binding {
  return {
    executable: { path: fact.realPath, sha256: fact.sha256 },
    ...interpreterBinding(fact),
    ...surroundingsBinding(fact),
  }
}

/** As `processBinding`, for a container: `engine` and `image` in the place of what the host would run. */
export function containerBinding(fact: ContainerFact & { known: true }): Binding {
  return { engine: fact.engine.kind, image: fact.image, ...surroundingsBinding(fact) }
}

/** What both see of the workspace and are given. */
function surroundingsBinding(fact: Pick<ProcessFact & { known: true }, 'cwd' | 'argvFiles' | 'environment'>): Binding {
  const variables = Object.entries(fact.environment)
  const files = variables.flatMap(([name, one]) =>
    'file' in one ? [[name, { file: one.file, path: one.path, sha256: one.sha256 }]] : [],
  )
  const helpers = variables.flatMap(([name, one]) => ('helper' in one ? [[name, helperBinding(one)]] : []))
  return {
    cwd: fact.cwd,
    argv_files: boundFiles(fact.argvFiles),
    environment: Object.fromEntries(
      variables.flatMap(([name, one]) => ('source' in one ? [[name, { source: one.source, sha256: one.sha256 }]] : [])),
    ),
    ...(files.length > 0 && { secret_files: Object.fromEntries(files) }),
    ...(helpers.length > 0 && { secret_helpers: Object.fromEntries(helpers) }),
  }
}

/** What a secret helper is known by: which program would run, with which files. */
export function helperBinding({ helper, program }: SecretHelperFact): JsonObject {
  if (!program.known) return { helper }
  return {
    helper,
    executable: { path: program.realPath, sha256: program.sha256 },
    ...interpreterBinding(program),
    argv_files: boundFiles(program.argvFiles),
  }
}

function interpreterBinding({ interpreters }: ProcessFact & { known: true }): JsonObject {
  if (interpreters.length === 0) return {}
  return { interpreter: interpreters.map(({ path, sha256 }) => ({ path, sha256 })) }
}

function boundFiles(files: { [path: string]: string }): Json {
  return Object.keys(files).length <= filesListed ? files : { sha256: digest(files) }
}
