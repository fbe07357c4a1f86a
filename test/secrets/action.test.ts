import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtAction, newJob, runJob } from '../action/job.ts'
import { documentOf } from '../cli/support.ts'

/** The Action masks values of files and of helpers before the job's log can hold them. */
let action: Awaited<ReturnType<typeof builtAction>>
beforeAll(async () => {
  action = await builtAction()
})
afterAll(() => action.remove())

test('values of files are masks before the first task, those of helpers before their process can print', async () => {
  const document = documentOf({
    policy: {
      approval: 'never',
      processAllowlist: ['sh'],
      secretFileRoots: ['vault'],
      secretProcessAllowlist: ['cat'],
      environmentAllowlist: ['FILE', 'HELPER'],
    },
    actions: {
      use: {
        kind: 'builtin.shell.exec',
        command: '/bin/sh',
        args: ['-c', 'echo "file $FILE helper $HELPER"'],
        env: { FILE: { file: 'vault/file' }, HELPER: { process: { command: '/bin/cat', args: ['vault/helper'] } } },
      },
    },
    tasks: [{ id: 'use', uses: 'action:use' }],
  })
  const files = { 'flow.yaml': document, 'vault/file': 'value-of-the-file\n', 'vault/helper': 'value-of-the-helper\n' }
  const job = newJob(files, { workflow: 'flow.yaml' })
  try {
    const end = await runJob(action.entry, job)
    expect(end.exitCode, end.log).toBe(0)
    const [file, helper, started, printed] = [
      '::add-mask::value-of-the-file',
      '::add-mask::value-of-the-helper',
      '::group::',
      'file *** helper ***',
    ].map(text => end.log.indexOf(text))
    expect(file).toBeGreaterThanOrEqual(0)
    expect(helper).toBeGreaterThan(0)
    expect(file).toBeLessThan(started ?? -1)
    expect(helper).toBeLessThan(printed ?? -1)
    const shown = end.log.replaceAll(/^::add-mask::.*\n/gm, '') + end.summary + JSON.stringify(end.outputs)
    expect(shown).not.toMatch(/value-of-the/)
  } finally {
    job.remove()
  }
})
