import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbedded, systemClock, systemIds } from '../../ledger/index.ts'
import { createDesk } from './support.ts'

const document = `
apiVersion: agentctl.dev/v1
kind: Workflow
metadata: { name: once }
spec:
  policy: { approval: never, processAllowlist: [sh] }
  actions:
    tool: { kind: builtin.shell.exec, command: sh, args: [-c, 'echo begun >> witness; sleep 5'], idempotency: idempotent }
  tasks: [{ id: a, uses: action:tool }]
`
const main = path.resolve(import.meta.dirname, '../../cli/main.ts')
const isRoot = process.platform === 'linux' && process.getuid?.() === 0

it.skipIf(!isRoot)(
  'a run that lives is not taken over from another pid namespace, where its process is not seen',
  async () => {
    const desk = createDesk()
    onTestFinished(() => desk.dispose())
    desk.put('once.yaml', document)
    const first = desk.start('run', 'once.yaml')
    await expect.poll(() => desk.get('witness'), { timeout: 20_000 }).toBe('begun\n')
    const file = path.join(desk.directory, '.agentctl/runtime.db')
    const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
    const [{ run } = { run: '' }] = ledger.store.runs().items
    await ledger.close()
    const words = ['--pid', '--fork', '--mount-proc', process.execPath, main, 'resume', run]
    const second = await promisify(execFile)('unshare', words, { cwd: desk.directory }).then(
      () => ({ code: 0, stderr: '' }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    )
    expect(second.stderr).toContain('is held by process')
    expect(second.code).toBe(5)
    expect((await first.ended).code).toBe(0)
    expect(desk.get('witness')).toBe('begun\n')
  },
  60_000,
)
