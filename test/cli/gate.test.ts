import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { cliAt, createDesk, type Desk, envelopeOf, gated } from './support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
  desk.put('gated.yaml', gated)
})
afterEach(() => desk.dispose())

/** Runs the gated document to its pause. */
async function pause(): Promise<{ run: string; approval: string }> {
  const ended = await desk.cli('run', 'gated.yaml', '--output', 'json')
  const { data } = envelopeOf(ended)
  expect(ended.code, ended.stderr).toBe(3)
  expect(data).toMatchObject({ state: 'paused', output: null, approvals: [{ task: 'gated', resolution: null }] })
  return { run: data.runId, approval: data.approvals[0].id }
}

test('a gated write waits, is approved, happens once, and its trail verifies', async () => {
  const { run, approval } = await pause()
  expect(desk.get('out/gated.txt')).toBeNull()

  const early = await desk.cli('resume', run, '--output', 'json')
  expect([early.code, desk.get('out/gated.txt')]).toEqual([3, null])

  const approved = envelopeOf(
    await desk.cli('approvals', 'approve', approval, '--reason', 'looks right', '--actor', 'Ann', '--output', 'json'),
  )
  const uid = process.getuid?.() ?? 0
  expect(approved.data.approval.resolution).toMatchObject({
    outcome: 'approved',
    by: [{ id: null, login: `local:${uid} Ann` }],
    reason: 'looks right',
    via: 'cli',
  })
  expect(desk.get('out/gated.txt')).toBeNull()

  const resumed = await desk.cli('resume', run, '--output', 'json')
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(envelopeOf(resumed).data).toEqual({ runId: run, state: 'succeeded', output: {}, approvals: [] })
  expect(desk.get('out/gated.txt')).toBe('exactly this\n')

  desk.put('out/gated.txt', 'changed since')
  const again = await desk.cli('resume', run, '--output', 'json')
  expect(envelopeOf(again).data.state).toBe('succeeded')
  expect(desk.get('out/gated.txt')).toBe('changed since')

  const listed = envelopeOf(await desk.cli('effects', 'list', run, '--output', 'json'))
  expect(listed.data.effects).toMatchObject([{ task: 'gated', state: 'succeeded', attempt: 1 }])
  desk.put('trail.ndjson', (await desk.cli('audit', 'export', run)).stdout)
  const { head } = envelopeOf(await desk.cli('audit', 'show', run, '--output', 'json')).data
  const verified = await desk.cli('audit', 'verify', 'trail.ndjson', '--expected-head', head)
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('verified')])
})

test('a rejected write never happens', async () => {
  const { run, approval } = await pause()
  expect((await desk.cli('approvals', 'reject', approval, '--reason', 'no')).code).toBe(0)
  const resumed = await desk.cli('resume', run, '--output', 'json')
  expect(resumed.code).toBe(3)
  expect(envelopeOf(resumed).data).toMatchObject({ runId: run, state: 'denied', approvals: [] })
  expect(desk.get('out/gated.txt')).toBeNull()

  const late = await desk.cli('approvals', 'approve', approval, '--reason', 'yes after all', '--output', 'json')
  expect([late.code, envelopeOf(late).diagnostics[0]?.code]).toEqual([2, 'already_resolved'])
})

test('people read what would be written, and what to type', async () => {
  const { code, stdout, stderr } = await desk.cli('run', 'gated.yaml')
  expect(code).toBe(3)
  expect(stdout).toContain('+exactly this')
  const [, approval = '', run = ''] = /approve\|reject (\S+) --reason TEXT\n.*resume (\S+)/.exec(stdout) ?? []
  expect(stderr).toContain('approval_pending')
  expect((await desk.cli('approvals', 'list', run)).stdout).toContain(approval)
  expect((await desk.cli('approvals', 'list')).stdout).toContain(approval)
  expect((await desk.cli('cancel', run, '--reason', 'not today')).stdout).toContain('cancelled')
  expect((await desk.cli('resume', run)).code).toBe(130)
})

test('one local user is one person, under whatever name', async () => {
  const { approval } = await pause()
  const ledger = new DatabaseSync(`${desk.directory}/.agentctl/runtime.db`)
  ledger.exec('UPDATE items SET needed = 2')
  ledger.close()
  for (const name of ['Ann', 'Bob']) {
    const voted = await desk.cli(
      'approvals',
      'approve',
      approval,
      '--reason',
      'ok',
      '--actor',
      name,
      '--output',
      'json',
    )
    expect(envelopeOf(voted).data).toMatchObject({ state: 'paused', approval: { needed: 2, resolution: null } })
  }
})

test('what is not there, and words that cannot be recorded, are named', async () => {
  await pause()
  const cases: [string, ...string[]][] = [
    ['approval_not_found', 'approvals', 'approve', 'f'.repeat(64), '--reason', 'x'],
    ['run_not_found', 'resume', 'no-such-run'],
    ['run_not_found', 'approvals', 'list', 'no-such-run'],
    ['effect_not_found', 'effects', 'inspect', 'f'.repeat(64)],
    ['invalid_reason', 'approvals', 'approve', 'f'.repeat(64), '--reason', ' '],
    ['invalid_actor', 'approvals', 'reject', 'x', '--reason', 'x', '--actor', 'a\u001b[8m'],
  ]
  for (const [code, ...argv] of cases) {
    const ended = await cliAt(desk.directory, new Date().toISOString(), [...argv, '--output', 'json'])
    expect([ended.code, envelopeOf(ended).diagnostics[0]?.code]).toEqual([2, code])
  }
})

test('a document that changed since is refused with both digests', async () => {
  const { run, approval } = await pause()
  await desk.cli('approvals', 'approve', approval, '--reason', 'ok')
  desk.put('gated.yaml', gated.replace('exactly this', 'something else'))
  const before = envelopeOf(await desk.cli('inspect', run, '--output', 'json')).data.run.workflowDigest
  const resumed = await desk.cli('resume', run, '--output', 'json')
  expect(resumed.code).toBe(2)
  const [{ message } = { message: '' }] = envelopeOf(resumed).diagnostics
  expect(message.match(/[0-9a-f]{64}/g)).toEqual([before, expect.not.stringContaining(before)])
  expect(desk.get('out/gated.txt')).toBeNull()
  desk.put('gated.yaml', gated)
  expect((await desk.cli('resume', run)).code).toBe(0)
})

test('what to type next works as it stands, with the workspace and ledger of the command', async () => {
  desk.put("a work's place/gated.yaml", gated)
  const where = ['--workspace', "a work's place", '--db', 'kept/led.db']
  const { code, stdout } = await desk.cli('run', "a work's place/gated.yaml", ...where)
  expect(code).toBe(3)
  const [, decide = '', resume = ''] = /Decide with: +agentctl (.*)\nthen: +agentctl (.*)\n/.exec(stdout) ?? []
  expect((await desk.shell(decide.replace('approve|reject', 'approve'))).code).toBe(0)
  expect((await desk.shell(resume)).code).toBe(0)
  expect(desk.get("a work's place/out/gated.txt")).toBe('exactly this\n')
})
