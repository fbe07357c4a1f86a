import type { DecisionInput, EffectQuestion, Facts, Policy } from '../../policy/decision/index.ts'
import { decide, policyDefaults } from '../../policy/decision/index.ts'

/** Every field from its default, so that a test shows only what it is about. */
export const defaultOrigins = Object.fromEntries(
  Object.keys(policyDefaults).map(field => [field, 'default']),
) as DecisionInput['origins']

export const writeEffect: EffectQuestion = {
  task: 'write',
  agent: null,
  operation: 'builtin.write',
  tool: 'filesystem.write',
  capabilities: ['workspace.write'],
  effectClass: 'workspace_mutate',
  risk: 'medium',
  isolation: 'process',
  toolApproval: 'policy',
  input: { path: 'out/a.txt', content: 'x' },
  confirmedByParent: null,
}

export const writeFacts: Facts = {
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
}

export const readEffect: EffectQuestion = {
  ...writeEffect,
  operation: 'builtin.read',
  tool: 'filesystem.read',
  capabilities: ['workspace.read'],
  effectClass: 'observe',
  risk: 'low',
}

export const readFacts: Facts = { kind: 'read', path: { known: true, requested: 'a.txt', path: 'a.txt' } }

export const processEffect: EffectQuestion = {
  ...writeEffect,
  operation: 'builtin.shell.exec',
  tool: 'process.exec',
  capabilities: [],
  effectClass: 'process_execution',
  risk: 'high',
  input: {},
}

export function processFacts(change: object = {}): Facts {
  return {
    kind: 'process',
    process: {
      known: true,
      command: 'git',
      basename: 'git',
      realPath: '/usr/bin/git',
      sha256: 'a'.repeat(64),
      passed: [{ path: '/usr/bin/git', untrusted: '' }],
      interpreters: [],
      cwd: '.',
      argvFiles: {},
      environment: {},
      ...change,
    },
  }
}

export function policy(change: Partial<Policy> = {}): Policy {
  return { ...policyDefaults, approval: 'never', ...change }
}

/** Decides with everything allowed that the change does not forbid. */
export function decided(
  effect: EffectQuestion,
  facts: Facts,
  change: Partial<Policy> = {},
  more: Partial<DecisionInput> = {},
) {
  return decide({ effect, facts, policy: policy(change), origins: defaultOrigins, canPause: false, ...more })
}

/** `git` in a container of a local image. */
export function containerFacts(change: object = {}): Facts {
  const id = `sha256:${'0'.repeat(64)}`
  return {
    kind: 'container',
    container: {
      known: true,
      command: 'git',
      basename: 'git',
      engine: { kind: 'docker', version: '20.10.24' },
      image: { reference: id, id },
      cwd: '.',
      argvFiles: {},
      environment: {},
      ...change,
    },
  }
}
