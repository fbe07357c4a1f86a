import { tmpdir } from 'node:os'
import type { Ledger } from '../ledger/port.ts'
import type { Floor } from '../policy/decision/index.ts'
import type { RunnerPorts } from '../runner/index.ts'
import type { Context } from './command.ts'
import { ledgerFileOf } from './files.ts'
import { showProgress } from './progress.ts'

/** What a prediction and a run both need of this face. */
export type HostPorts = Omit<RunnerPorts, 'ledger' | 'clock' | 'ids' | 'signal' | 'report'>

/** The host as the terminal sees it; `documents` are absolute paths that nothing may write, beside the ledger. */
export function hostPorts(
  context: Context,
  host: { workspace: string; documents: readonly string[]; floor: Floor | null; interactive?: boolean },
): HostPorts {
  const ledger = ledgerFileOf(context)
  return {
    workspace: host.workspace,
    environment: context.environment,
    protectedPaths: [...host.documents, ledger, `${ledger}-wal`, `${ledger}-shm`],
    temporaryDirectories: [tmpdir()],
    searchPath: host.floor?.searchPath ?? [],
    hostFloor: host.floor,
    interactive: host.interactive ?? false,
  }
}

export function runnerPorts(context: Context, host: HostPorts, ledger: Ledger, signal: AbortSignal): RunnerPorts {
  const { clock, ids } = context
  return { ...host, ledger, clock, ids, signal, report: showProgress(context) }
}
