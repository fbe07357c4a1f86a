import { openEmbedded, systemClock, systemIds } from '../../ledger/index.ts'
import { defaultApprovalSettings } from '../../policy/approval/record.ts'
import { type RunnerPorts, resumeRun, startRun } from '../../runner/index.ts'
import { tenTasks } from './ten-tasks.ts'

/** A process of its own that starts or resumes a run until somebody kills it: `kill-child.ts LEDGER WORKSPACE LOG RUN`. */
const [file = '', workspace = '', log = '', run = ''] = process.argv.slice(2)
const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
const ports: RunnerPorts = {
  ledger,
  clock: systemClock,
  ids: systemIds,
  workspace,
  environment: {},
  protectedPaths: [],
  temporaryDirectories: [],
  searchPath: [],
  signal: new AbortController().signal,
  report() {},
}
const commit = { sha: null, head: null }
const isNew = ledger.store.record(run) === null
process.stdout.write('ready')
const outcome = isNew
  ? await startRun(ports, {
      run,
      epoch: 1,
      plan: tenTasks(log, 2, 'never'),
      document: 'test.yaml',
      commit,
      settings: defaultApprovalSettings,
      resumeWith: 'rerun',
      parent: null,
    })
  : await resumeRun(ports, { run, epoch: await ledger.acquire(run), commit, workflowDigest: null })
await ledger.close()
process.exitCode = outcome.exitCode
