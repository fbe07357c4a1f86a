import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'
import { documentOf, type Ended, envelopeOf } from '../cli/support.ts'
import { type BuiltCli, buildCli } from './built-cli.ts'

/** An approval holds for the host as it was shown; people decide and resume by the command line (04, binding). */
let built: BuiltCli
let directory: string
beforeAll(async () => {
  built = await buildCli()
})
afterAll(() => built.remove())
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'agentctl-approvals-'))
  mkdirSync(at('out'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const at = (name: string) => path.join(directory, name)

function program(name: string, content: string | null): string {
  rmSync(at(name), { force: true })
  if (content === null) copyFileSync('/bin/sh', at(name))
  else writeFileSync(at(name), content)
  chmodSync(at(name), 0o755)
  return at(name)
}

const cli = (environment: { [name: string]: string }, ...argv: string[]): Promise<Ended> =>
  built.run(directory, { HOME: directory, ...environment }, [...argv, '--output', 'json'])

interface Change {
  action: JsonObject
  environment?: { [name: string]: string }
  /** Makes the host another one. */
  change: () => void
  /** The environment from then on, where it is another one. */
  later?: { [name: string]: string }
  /** Lines that the approved process leaves in `ran`. */
  ran: string
}

/** Each run of it is a line: what it does twice is seen. */
const leaves = (line: string) => `echo "${line}" >> "${directory}/ran"\n`

const changes: [code: string, make: () => Change][] = [
  [
    'executable_changed',
    () => {
      const tool = program('tool', `#!/bin/sh\n${leaves('first')}`)
      return {
        action: { command: tool },
        change: () => void program('tool', `#!/bin/sh\n${leaves('second')}`),
        ran: 'second\n',
      }
    },
  ],
  [
    'interpreter_changed',
    () => {
      const interpreter = program('interpreter', `#!/bin/sh\n${leaves('first')}`)
      return {
        action: { command: program('tool', `#!${interpreter}\n`) },
        change: () => void program('interpreter', `#!/bin/sh\n${leaves('second')}`),
        ran: 'second\n',
      }
    },
  ],
  [
    'argv_files_changed',
    () => {
      writeFileSync(at('script'), leaves('first'))
      return {
        action: { command: '/bin/sh', args: ['script'] },
        change: () => writeFileSync(at('script'), leaves('second')),
        ran: 'second\n',
      }
    },
  ],
  [
    'environment_changed',
    () => ({
      action: {
        command: '/bin/sh',
        args: ['-c', leaves('$TOKEN')],
        env: { TOKEN: { env: 'TOKEN' } },
      },
      environment: { TOKEN: 'first-token' },
      change: () => {},
      later: { TOKEN: 'second-token' },
      ran: 'second-token\n',
    }),
  ],
  [
    'cwd_changed',
    () => {
      mkdirSync(at('one'))
      mkdirSync(at('two'))
      symlinkSync('one', at('current'))
      return {
        action: { command: '/bin/sh', args: ['-c', leaves('$(basename "$(pwd -P)")')], cwd: 'current' },
        change: () => {
          rmSync(at('current'))
          symlinkSync('two', at('current'))
        },
        ran: 'two\n',
      }
    },
  ],
]

async function pause({ action, environment = {} }: Change): Promise<{ run: string; approval: string }> {
  const allowed = [path.basename(String(action['command'])), at('tool'), at('interpreter')]
  const policy = { approval: 'mutations', processAllowlist: allowed, environmentAllowlist: ['TOKEN'] }
  writeFileSync(
    at('document.yaml'),
    documentOf({
      policy,
      actions: { tool: { kind: 'builtin.shell.exec', ...action } },
      tasks: [{ id: 'gated', uses: 'action:tool' }],
    }),
  )
  const ended = await cli(environment, 'run', 'document.yaml')
  expect(ended.code, ended.stderr).toBe(3)
  const { data } = envelopeOf(ended)
  return { run: data.runId, approval: data.approvals[0].id }
}

async function approve(approval: string): Promise<void> {
  const ended = await cli({}, 'approvals', 'approve', approval, '--reason', 'seen')
  expect(ended.code, ended.stderr).toBe(0)
}

const ran = () => readFileSync(at('ran'), 'utf8')

describe('seed: an approval is bound to the facts of the host', () => {
  test.each(changes)(
    '%s between approval and resume: voided by name, asked again, then run once',
    async (code, make) => {
      const play = make()
      const { run, approval } = await pause(play)
      await approve(approval)
      play.change()
      const environment = play.later ?? play.environment ?? {}
      const voided = await cli(environment, 'resume', run)
      expect(voided.code, voided.stderr).toBe(3)
      const [asked] = envelopeOf(voided).data.approvals
      expect(asked.reason).toContain(`asked again: ${code})`)
      expect(asked.id).not.toBe(approval)
      expect(ran).toThrow()

      await approve(asked.id)
      const resumed = await cli(environment, 'resume', run)
      expect(resumed.code, resumed.stderr).toBe(0)
      expect(ran()).toBe(play.ran)
      await cli(environment, 'resume', run)
      expect(ran()).toBe(play.ran)
    },
  )

  test.each(changes)('%s is not said where nothing changed: it runs once', async (_, make) => {
    const play = make()
    const { run, approval } = await pause(play)
    await approve(approval)
    const resumed = await cli(play.environment ?? {}, 'resume', run)
    expect(resumed.code, resumed.stderr).toBe(0)
    expect(ran().split('\n')).toHaveLength(2)
    expect(ran()).not.toBe(play.ran)
  })
})
