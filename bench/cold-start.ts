import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle, entries } from '../build.ts'
import { type BenchRow, median } from './bench.ts'

const rounds = 25
const taskCount = 10

/**
 * The Action's cold start: `node dist/index.js` until it has told the first decision of a 10-task document, embedded
 * ledger on disk, against `node -e 0` to its end. Both sides in turn; the first pair is a warm-up.
 */
export async function bench(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'agentctl-cold-'))
  try {
    await bundle(join(folder, 'dist'), { index: entries.index })
    writeFileSync(join(folder, 'flow.yaml'), document())
    const decided: number[] = []
    const ended: number[] = []
    const bare: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const action = await actionStart(folder, round)
      const nothing = bareNode()
      if (round === 0) continue
      decided.push(action.decided)
      ended.push(action.ended)
      bare.push(nothing)
    }
    const [first, all, peer] = [median(decided), median(ended), median(bare)]
    const row = { name: 'cold-start', against: '`node -e 0`' }
    return [
      {
        ...row,
        what: `Action cold start to the first decision, ${taskCount} tasks, embedded ledger`,
        goal: '<= 3x',
        ratio: first / peer,
        detail: `${first.toFixed(0)} ms / ${peer.toFixed(0)} ms; the whole run ${all.toFixed(0)} ms; ${rounds} pairs`,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Ten writes in a chain: each is decided and recorded. */
function document(): string {
  const tasks = Array.from(
    { length: taskCount },
    (_, index) =>
      `    - { id: t${index}, uses: "action:write", needs: [${index === 0 ? '' : `t${index - 1}`}], with: { path: out/${index}.txt, content: x } }\n`,
  )
  return `apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: cold }
spec:
  policy: { writableRoots: [out], approval: never }
  actions: { write: { kind: builtin.write } }
  tasks:
${tasks.join('')}`
}

/** Milliseconds from spawn to the first decision in the log, and to the end. */
async function actionStart(folder: string, round: number): Promise<{ decided: number; ended: number }> {
  const temp = mkdtempSync(join(folder, `temp-${round}-`))
  const workspace = mkdtempSync(join(folder, `work-${round}-`))
  writeFileSync(join(workspace, 'flow.yaml'), document())
  for (const file of ['output', 'summary']) writeFileSync(join(temp, file), '')
  const environment = {
    PATH: '/usr/bin:/bin',
    INPUT_WORKFLOW: 'flow.yaml',
    GITHUB_WORKSPACE: workspace,
    RUNNER_TEMP: temp,
    GITHUB_REPOSITORY: 'octo/app',
    GITHUB_SHA: 'a'.repeat(40),
    GITHUB_EVENT_NAME: 'push',
    GITHUB_JOB: 'cold',
    GITHUB_ACTION: '__self',
    GITHUB_OUTPUT: join(temp, 'output'),
    GITHUB_STEP_SUMMARY: join(temp, 'summary'),
  }
  const started = performance.now()
  const child = spawn(process.execPath, [join(folder, 'dist/index.js')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let decided = Number.NaN
  let log = ''
  child.stdout.on('data', (chunk: Buffer) => {
    log += chunk.toString()
    if (Number.isNaN(decided) && log.includes('t0 (builtin.write)')) decided = performance.now() - started
  })
  const code = await new Promise(resolve => child.on('close', resolve))
  if (code !== 0 || Number.isNaN(decided)) throw new Error(`the Action exited ${code}:\n${log}`)
  return { decided, ended: performance.now() - started }
}

function bareNode(): number {
  const started = performance.now()
  execFileSync(process.execPath, ['-e', '0'])
  return performance.now() - started
}
