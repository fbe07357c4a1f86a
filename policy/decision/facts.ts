import type { Digest } from '../canonical.ts'
import type { NetworkFact } from './network/fact.ts'

/**
 * What is true on this host about one effect, found by runner/facts before anything is requested. A fact that could not
 * be had is an `Unknown` with its reason: the decision denies on it.
 */
export type Facts =
  | { kind: 'none' }
  | { kind: 'read'; path: PathFact }
  | { kind: 'write'; path: WriteFact }
  | { kind: 'process'; process: ProcessFact }
  | { kind: 'container'; container: ContainerFact }
  | { kind: 'network'; network: NetworkFact }
  | { kind: 'ledger'; ledger: LedgerFact }

/** A place in the long-term memory: the plan's namespace, and the key, null for a search. */
export interface LedgerFact {
  namespace: string
  key: string | null
}

/** A fact that could not be established, and what stood in the way. */
export interface Unknown {
  known: false
  /** Name of the rule or error, `parent_traversal`, `symlink_escape`, `not_found`, `not_regular`, `nul_byte`, `ENOENT`. */
  cause: string
  /** One sentence for a person. */
  detail: string
}

/** A file under the workspace, canonical. */
export type PathFact =
  | Unknown
  | { known: true; requested: string /** workspace-relative, `/`-separated */; path: string }

/** A file to be written: its canonical place and what stands there now. */
export type WriteFact =
  | Unknown
  | {
      known: true
      requested: string
      /** Workspace-relative where under the workspace, else absolute; `/`-separated. */
      path: string
      absolute: string
      /** The canonical writable root of the policy that holds it, as the policy writes it; null when none does. */
      root: string | null
      /** The never-writable rule it falls under, null when none does. */
      protectedBy: string | null
      /** Digest and mode of the file that it would replace, null where there is none. */
      before: { sha256: Digest; bytes: number; mode: number } | null
    }

/** A place that leads to a program, and why its content could be replaced by others; empty where it could not. */
export interface PassedPlace {
  path: string
  untrusted: '' | 'writable_root' | 'temporary' | 'others_writable'
}

/** A variable of a process: where its value comes from, never the value itself. */
export type VariableFact = EnvironmentFact | SecretFileFact | SecretHelperFact

/** The name of the job that a value is read from, and the digest of the value. */
export interface EnvironmentFact {
  source: string
  /** Null where there is no value to give: the source is not set unless `fault` says otherwise. */
  sha256: Digest | null
  /** Why a value that is set is not given: it is empty, or too short to be hidden in a log. */
  fault?: 'empty' | 'short'
}

/** A file that holds a secret. One that lies under no secret root was not looked at any further. */
export interface SecretFileFact {
  /** As the reference names it. */
  file: string
  /** The entry of `secretFileRoots` that holds its real place, as the policy writes it; null when none does. */
  root: string | null
  /** Real place: workspace-relative where under the workspace, else absolute; null where it is not known. */
  path: string | null
  /** Of the value; null where there is none to give, or where it was not read. */
  sha256: Digest | null
  /** Why there is no value to give; `.cause` is the name of the rule. */
  fault?: Unknown
}

/** A helper process that prints a secret once the effect may run: its program is known before, its value is not. */
export interface SecretHelperFact {
  /** The command as the reference writes it. */
  helper: string
  program: ProcessFact
}

/** A host process: the real executable, and what its arguments name in the workspace. */
export type ProcessFact =
  | Unknown
  | {
      known: true
      command: string
      /** Basename of the command as written. */
      basename: string
      /** Real path of the file that will run. */
      realPath: string
      sha256: Digest
      /** Every path that resolution passed through. */
      passed: PassedPlace[]
      /** What would load a script, outermost first, by real path; empty for a binary. */
      interpreters: { path: string; sha256: Digest; passed: PassedPlace[] }[]
      /** Canonical working directory, workspace-relative. */
      cwd: string
      /** Regular files of the workspace that argv names, by workspace-relative path. */
      argvFiles: { [path: string]: Digest }
      environment: { [name: string]: VariableFact }
    }

/** A process in a container: which engine and image would run it, and what it would see of the workspace. */
export type ContainerFact =
  | Unknown
  | {
      known: true
      command: string
      /** Basename of the command as written. */
      basename: string
      engine: { kind: 'docker' | 'podman'; version: string }
      /** As the document pins it, and the engine's own id of what it found, `sha256:` and 64 hex digits. */
      image: { reference: string; id: string }
      /** Canonical working directory, workspace-relative; the container sees it read-only. */
      cwd: string
      /** Regular files of it that command and arguments name, by workspace-relative path. */
      argvFiles: { [path: string]: Digest }
      environment: { [name: string]: VariableFact }
    }
