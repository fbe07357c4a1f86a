import type { Binding } from '../../policy/binding.ts'
import { digest } from '../../policy/canonical.ts'
import type { ProcessFact } from '../../policy/decision/facts.ts'
import type { Json } from '../../policy/json.ts'

/** Of more argument files than this, only the digest of their digests is recorded. */
const filesListed = 200

/**
 * What an approval of a process is bound to, each under its own name: `executable`, `interpreter` (of a script), `cwd`,
 * `argv_files`, `environment`.
 */
export function processBinding(fact: ProcessFact & { known: true }): Binding {
  const interpreters = fact.interpreters.map(({ path, sha256 }) => ({ path, sha256 }))
  return {
    executable: { path: fact.realPath, sha256: fact.sha256 },
    ...(interpreters.length > 0 && { interpreter: interpreters }),
    cwd: fact.cwd,
    argv_files: boundFiles(fact.argvFiles),
    environment: Object.fromEntries(
      Object.entries(fact.environment).map(([name, { source, sha256 }]) => [name, { source, sha256 }]),
    ),
  }
}

function boundFiles(files: { [path: string]: string }): Json {
  return Object.keys(files).length <= filesListed ? files : { sha256: digest(files) }
}
