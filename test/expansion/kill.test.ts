import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openEmbedded, systemClock, systemIds } from '../../ledger/index.ts'
import type { EffectRecord } from '../../ledger/port.ts'
import { createDesk, type Desk } from '../cli/support.ts'
import { countsOf } from '../runner/crash.ts'
import { sh, short } from './support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
})
afterEach(() => desk.dispose())

/** Each process leaves its line first and then takes its time, so that a kill meets it in between. */
const line = (name: string) => sh(`echo ${name} >> log; sleep 0.4`)
const document = JSON.stringify({
  apiVersion: 'agentctl.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'killed' },
  spec: {
    policy: { approval: 'never', processAllowlist: ['sh'] },
    outputs: {
      each: '${{ tasks.each.output.items }}',
      loops: '${{ tasks.loop.output.iterations }}',
      flow: '${{ tasks.flow.output.exitCode }}',
    },
    actions: { each: line('each'), loop: line('loop'), flow: line('flow') },
    subworkflows: {
      f: {
        version: '1.0.0',
        inputSchema: true,
        outputSchema: { type: 'object', required: ['exitCode'] },
        outputs: { exitCode: '${{ tasks.run.output.exitCode }}' },
        tasks: [{ id: 'run', uses: 'action:flow' }],
      },
    },
    tasks: [
      { id: 'each', uses: 'action:each', foreach: { items: ['a', 'b'] } },
      {
        id: 'loop',
        uses: 'action:loop',
        needs: ['each'],
        loop: { maxIterations: 3, while: '${{ vars.loopIndex < 2 }}' },
      },
      { id: 'flow', uses: 'workflow:f', needs: ['loop'] },
    ],
  },
})
const wanted = { each: 2, loop: 2, flow: 1 }

const log = () => path.join(desk.directory, 'log')
const written = () => [...countsOf(log()).values()].reduce((sum, count) => sum + count, 0)

async function withStore<Result>(use: (store: ReturnType<typeof openEmbedded>['store']) => Result): Promise<Result> {
  const ledger = openEmbedded({
    file: path.join(desk.directory, '.agentctl/runtime.db'),
    clock: systemClock,
    ids: systemIds,
  })
  try {
    return use(ledger.store)
  } finally {
    await ledger.close()
  }
}

async function reconcile(effect: EffectRecord, confirmed: number): Promise<void> {
  const name = effect.task.split('--')[0] ?? ''
  const applied = (countsOf(log()).get(name) ?? 0) > confirmed
  desk.put('evidence', 'the log')
  desk.put('result.json', '{"status": "changed", "changed": true, "exitCode": 0, "stdout": "", "stderr": ""}')
  const result = applied ? ['--result-file', 'result.json'] : []
  const status = applied ? 'applied' : 'not-applied'
  const { code, stderr } = await desk.cli(
    ...['effects', 'reconcile', effect.effect, '--status', status, '--reason', 'test', '--evidence-file', 'evidence'],
    ...result,
  )
  expect(code, stderr).toBe(0)
}

it.each([2, 4, 5])(
  'killed with SIGKILL at process %i: uncertain until reconciled, then on to the end, each ran once',
  async at => {
    desk.put('w.yaml', document)
    const started = desk.start('run', 'w.yaml')
    while (written() < at) await sleep(10)
    started.process.kill('SIGKILL')
    await started.ended

    const [run = ''] = await withStore(store => store.runs().items.map(record => record.run))
    expect((await desk.cli('resume', run)).code).toBe(4)
    const effects = await withStore(store => store.effects(run))
    const uncertain = effects.filter(({ state }) => state === 'uncertain')
    expect(uncertain.map(({ task }) => short(task))).toHaveLength(1)
    for (const effect of uncertain) {
      const name = effect.task.split('--')[0] ?? ''
      const confirmed = effects.filter(({ task, state }) => task.startsWith(name) && state === 'succeeded').length
      await reconcile(effect, confirmed)
    }

    const { code, stdout, stderr } = await desk.cli('resume', run, '--output', 'json')
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout).data.output).toMatchObject({
      each: [{ state: 'succeeded' }, { state: 'succeeded' }],
      loops: 2,
      flow: 0,
    })
    expect(Object.fromEntries(countsOf(log()))).toEqual(wanted)
  },
)

it('explain, plan and --check know expanded tasks by id', async () => {
  desk.put('w.yaml', document)
  const plan = await desk.cli('plan', 'w.yaml', '--output', 'json')
  const { order } = JSON.parse(plan.stdout).data.plan as { order: string[] }
  expect((await desk.cli('plan', 'w.yaml', '--output', 'json')).stdout).toBe(plan.stdout)
  const [child = ''] = order
  const explained = await desk.cli('explain', 'w.yaml', child, '--output', 'json')
  expect(JSON.parse(explained.stdout).data).toMatchObject({
    task: child,
    outcome: 'run',
    decision: { outcome: 'allow' },
  })
  const aggregate = await desk.cli('explain', 'w.yaml', 'each', '--output', 'json')
  expect(JSON.parse(aggregate.stdout).data).toMatchObject({ task: 'each', kind: 'foreach', decision: null })
  const unknown = await desk.cli('explain', 'w.yaml', 'each--0000')
  expect([unknown.code, unknown.stderr.includes(child)]).toEqual([2, true])
  const check = await desk.cli('run', 'w.yaml', '--check', '--diff', '--output', 'json')
  expect(check.code, check.stderr).toBe(0)
  const { tasks } = JSON.parse(check.stdout).data as { tasks: { task: string; outcome: string }[] }
  expect(tasks.map(({ task }) => task)).toEqual(order)
  expect(desk.get('log')).toBeNull()
})
