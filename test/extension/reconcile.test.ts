import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDesk, type Desk, envelopeOf } from '../cli/support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
})
afterEach(() => desk.dispose())

test('a result that a person vouches for is held to the schemas of its task', async () => {
  const document = {
    apiVersion: 'agentctl.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'vouched' },
    spec: {
      policy: { approval: 'never', processAllowlist: ['sh'] },
      outputs: { said: '${{ tasks.slow.output.stdout }}' },
      actions: {
        slow: { kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', 'sleep 30'], timeoutSeconds: 1 },
      },
      tasks: [
        {
          id: 'slow',
          uses: 'action:slow',
          outputSchema: { type: 'object', required: ['stdout'], properties: { stdout: { pattern: '^seen' } } },
        },
      ],
    },
  }
  desk.put('slow.yaml', JSON.stringify(document))
  const ran = await desk.cli('run', 'slow.yaml', '--output', 'json')
  expect(ran.code).toBe(4)
  const { runId } = JSON.parse(ran.stderr).data
  const [{ effect }] = envelopeOf(await desk.cli('effects', 'list', runId, '--output', 'json')).data.effects

  desk.put('evidence.txt', 'the log')
  desk.put('wrong.json', JSON.stringify({ stdout: 'other' }))
  desk.put('right.json', JSON.stringify({ stdout: 'seen' }))
  const applied = [
    'effects',
    'reconcile',
    effect,
    '--status',
    'applied',
    '--reason',
    'r',
    '--evidence-file',
    'evidence.txt',
  ]
  const without = await desk.cli(...applied)
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining('must be of type object')])
  const wrong = await desk.cli(...applied, '--result-file', 'wrong.json')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('/stdout must match the pattern ^seen')])
  expect((await desk.cli(...applied, '--result-file', 'right.json')).code).toBe(0)
  const done = envelopeOf(await desk.cli('resume', runId, '--output', 'json'))
  expect(done.data).toMatchObject({ state: 'succeeded', output: { said: 'seen' } })
})
