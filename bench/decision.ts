import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { type Enforcer, newEnforcer, newModel } from 'casbin'
import { type DecisionInput, decide, effectivePolicy, policyOrigins, policyValues } from '../policy/decision/index.ts'
import { type BenchRow, median } from './bench.ts'

const rounds = 25
const sizes = [20, 2000] as const
/** Decisions per measured batch; Cedar and casbin get fewer where they are slow, per decision it is the same. */
const batches = { ours: 20_000, cedar: 50, casbin: 50 }

/**
 * The five decisions with their trace about one write, facts given, against one authorisation by Cedar (policies parsed
 * once) and by casbin on the same rules: half of them denied tools, half allowed ones, and a writable root each.
 */
export async function bench(): Promise<BenchRow[]> {
  const times: { [side: string]: number } = {}
  for (const rules of sizes) {
    const sides = { ours: ours(rules), cedar: cedarSide(rules), casbin: await casbinSide(rules) }
    const taken: { [side in keyof typeof sides]: number[] } = { ours: [], cedar: [], casbin: [] }
    for (let round = 0; round <= rounds; round++) {
      for (const side of ['ours', 'cedar', 'casbin'] as const) {
        const count = batches[side]
        const start = performance.now()
        for (let n = 0; n < count; n++) sides[side]()
        if (round > 0) taken[side].push(((performance.now() - start) * 1000) / count)
      }
    }
    for (const side of ['ours', 'cedar', 'casbin'] as const) times[`${side} ${rules}`] = median(taken[side])
  }
  const at = (side: string, rules: number) => times[`${side} ${rules}`] ?? Number.NaN
  const name = 'decision'
  const what = 'policy decision, five steps with trace'
  const shown = (side: string) => sizes.map(rules => `${at(side, rules).toFixed(2)} us at ${rules} rules`).join(', ')
  const against = (side: string, label: string): BenchRow => {
    const ratio = Math.min(...sizes.map(rules => at(side, rules) / at('ours', rules)))
    return {
      name,
      what,
      against: `${label} (times faster)`,
      goal: '>= 5x',
      ratio,
      detail: `${shown(side)}; medians of ${rounds}`,
    }
  }
  return [
    {
      name,
      what,
      against: 'microseconds',
      goal: '<= 5',
      ratio: Math.max(...sizes.map(rules => at('ours', rules))),
      detail: shown('ours'),
    },
    {
      name,
      what: 'the same at 2,000 rules',
      against: 'at 20 rules',
      goal: 'flat (<= 1.25x)',
      ratio: at('ours', 2000) / at('ours', 20),
      detail: shown('ours'),
    },
    against('cedar', `Cedar ${cedar.getCedarVersion()}`),
    against('casbin', 'casbin'),
  ]
}

const tool = 'filesystem.write'

function toolNames(rules: number, prefix: string): string[] {
  return Array.from({ length: rules / 2 - 1 }, (_, number) => `${prefix}-${number}`)
}

function ours(rules: number): () => void {
  const written = {
    writableRoots: ['out'],
    toolsDeny: toolNames(rules, 'denied'),
    toolsAllow: [...toolNames(rules, 'allowed'), tool],
  }
  const { policy } = effectivePolicy({ ...written, approval: 'mutations' }, null)
  const input: DecisionInput = {
    effect: {
      task: 'write',
      agent: null,
      operation: 'builtin.write',
      tool,
      capabilities: ['workspace.write'],
      effectClass: 'workspace_mutate',
      risk: 'medium',
      isolation: 'process',
      toolApproval: 'policy',
      input: { path: 'out/a.txt', content: 'x' },
      confirmedByParent: null,
    },
    facts: {
      kind: 'write',
      path: {
        known: true,
        requested: 'out/a.txt',
        path: 'out/a.txt',
        absolute: '/w/out/a.txt',
        root: 'out',
        protectedBy: null,
        before: null,
      },
    },
    policy: policyValues(policy),
    origins: policyOrigins(policy),
    canPause: false,
  }
  return () => {
    const decision = decide(input)
    if (decision.outcome !== 'ask' || decision.steps.length !== 5)
      throw new Error(`not the expected decision: ${decision.reason}`)
  }
}

function cedarSide(rules: number): () => void {
  const policies = [
    ...toolNames(rules, 'denied').map(
      name => `forbid(principal, action == Action::"use", resource == Tool::"${name}");`,
    ),
    ...[...toolNames(rules, 'allowed'), tool].map(
      name => `permit(principal, action == Action::"use", resource == Tool::"${name}") when { context.root == "out" };`,
    ),
  ]
  const parsed = cedar.preparsePolicySet(`rules-${rules}`, { staticPolicies: policies.join('\n') })
  if (parsed.type !== 'success') throw new Error('Cedar refused the policies')
  const call: cedar.StatefulAuthorizationCall = {
    principal: { type: 'Run', id: 'run' },
    action: { type: 'Action', id: 'use' },
    resource: { type: 'Tool', id: tool },
    context: { root: 'out' },
    preparsedPolicySetId: `rules-${rules}`,
    entities: [],
  }
  return () => {
    const answer = cedar.statefulIsAuthorized(call)
    if (answer.type !== 'success' || answer.response.decision !== 'allow') throw new Error('Cedar did not allow')
  }
}

const casbinModel = `
[request_definition]
r = sub, obj, root
[policy_definition]
p = sub, obj, root, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.obj == p.obj && r.root == p.root && r.sub == p.sub
`

async function casbinSide(rules: number): Promise<() => void> {
  const enforcer: Enforcer = await newEnforcer(newModel(casbinModel))
  await enforcer.addPolicies([
    ...toolNames(rules, 'denied').map(name => ['run', name, 'out', 'deny']),
    ...[...toolNames(rules, 'allowed'), tool].map(name => ['run', name, 'out', 'allow']),
  ])
  return () => {
    if (!enforcer.enforceSync('run', tool, 'out')) throw new Error('casbin did not allow')
  }
}
