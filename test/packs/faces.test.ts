import { symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDesk, type Desk, envelopeOf } from '../cli/support.ts'
import { declared, integrityOf, pack, using } from './support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
})
afterEach(() => desk.dispose())

const json = ['--output', 'json'] as const
const trusted = 'packTrust: {unsigned: allow, allowUnsignedProcess: true}'

/** Exit code, and code and message of the first error. */
async function outcome(...argv: string[]): Promise<[number | null, string, string]> {
  const ended = await desk.cli(...argv, ...json)
  const first = envelopeOf(ended).diagnostics.find(({ severity }) => severity === 'error')
  return [ended.code, first?.code ?? '', first?.message ?? '']
}

describe("authority is the document's alone", () => {
  const printing = pack(
    'acme.tools',
    'actions: {run: {kind: builtin.shell.exec, command: /bin/echo, args: [packed], env: {TOKEN: {env: TOKEN}}}}',
  )
  const document = (policy: string) =>
    using(declared(), 'action:acme.tools.run', `${trusted}\n    policy: {approval: never, ${policy}}`).replace(
      ', with: {value: 1}',
      '',
    )

  it('a process and its variables need the lists of the document', async () => {
    desk.put('tools.yaml', printing)
    desk.put('none.yaml', document('processAllowlist: []'))
    expect(await outcome('run', 'none.yaml')).toEqual([3, 'policy_denied', expect.stringContaining('processAllowlist')])
    desk.put('process.yaml', document('processAllowlist: [echo]'))
    expect(await outcome('run', 'process.yaml')).toEqual([
      3,
      'policy_denied',
      expect.stringContaining('environmentAllowlist'),
    ])
  })

  it('with these lists it runs as an action of the document would', async () => {
    desk.put('tools.yaml', printing.replace(', env: {TOKEN: {env: TOKEN}}', ''))
    desk.put('both.yaml', `${document('processAllowlist: [echo]')}  outputs: {said: "\${{ tasks.a.output.stdout }}"}\n`)
    const ended = await desk.cli('run', 'both.yaml', ...json)
    expect(envelopeOf(ended).data.output).toEqual({ said: 'packed\n' })
  })

  it('no task of a run writes to a pack, or to one that a pack brings', async () => {
    const base = pack('acme.base', '')
    const top = pack(
      'acme.tools',
      'dependencies: {acme.base: {version: "*", source: {path: packs/base.yaml}}}\nactions: {write: {kind: builtin.write}}',
    )
    desk.put('packs/tools.yaml', top)
    desk.put('packs/base.yaml', base)
    for (const target of ['packs/tools.yaml', 'packs/base.yaml', 'packs/TOOLS.yaml']) {
      const text = using(
        declared({ path: 'packs/tools.yaml' }),
        'action:acme.tools.write',
        'packTrust: {unsigned: allow}\n    policy: {approval: never, writableRoots: [packs]}',
      ).replace('{value: 1}', `{path: ${target}, content: mine}`)
      desk.put('write.yaml', text)
      expect([target, ...(await outcome('run', 'write.yaml'))].slice(0, 3)).toEqual([target, 3, 'policy_denied'])
    }
    expect([desk.get('packs/tools.yaml'), desk.get('packs/base.yaml')]).toEqual([top, base])
  })
})

describe('files of packs on disk', () => {
  const tools = pack('acme.tools', 'actions: {write: {kind: builtin.write}}')
  const gated = (text: string) =>
    using(
      declared({ integrity: integrityOf(text) }),
      'action:acme.tools.write',
      'packTrust: {unsigned: allow}\n    policy: {writableRoots: [out]}',
    ).replace('{value: 1}', '{path: out/a.txt, content: packed}')

  it.each(['../outside.yaml', '/etc/hostname'])('a link to %s is not followed', async target => {
    const outside = path.join(desk.directory, 'outside.yaml')
    writeFileSync(outside, tools)
    desk.put('here/flow.yaml', using(declared()))
    symlinkSync(target, path.join(desk.directory, 'here/tools.yaml'))
    const found = await outcome('check', 'here/flow.yaml', '--workspace', 'here')
    expect(found).toEqual([2, 'unreadable_file', expect.stringMatching(/^tools\.yaml leads out of /)])
  })

  it('a run that waits goes on with the pack that it was planned on', async () => {
    desk.put('tools.yaml', tools)
    desk.put('flow.yaml', gated(tools))
    const { runId, approvals } = envelopeOf(await desk.cli('run', 'flow.yaml', ...json)).data
    await desk.cli('approvals', 'approve', approvals[0].id, '--reason', 'read')
    expect((await desk.cli('resume', runId, ...json)).code).toBe(0)
    expect(desk.get('out/a.txt')).toBe('packed')
  })

  it('a changed pack starts no run, and resumes none', async () => {
    desk.put('tools.yaml', tools)
    desk.put('flow.yaml', gated(tools))
    const { runId, approvals } = envelopeOf(await desk.cli('run', 'flow.yaml', ...json)).data
    await desk.cli('approvals', 'approve', approvals[0].id, '--reason', 'read')
    const changed = `${tools}# another\n`
    desk.put('tools.yaml', changed)

    const message = `pack \`acme.tools\`: tools.yaml has ${integrityOf(changed)}, not the ${integrityOf(tools)} that its integrity names`
    for (const verb of ['check', 'plan', 'run'])
      expect(await outcome(verb, 'flow.yaml')).toEqual([2, 'policy_denied', message])
    expect(await outcome('resume', runId)).toEqual([
      expect.any(Number),
      'incompatible_state',
      expect.stringMatching(/the run was started on [0-9a-f]{64}, .*has [0-9a-f]{64}/),
    ])
    expect(desk.get('out/a.txt')).toBeNull()
  })

  it('a failing task of a pack is shown where the pack has it', async () => {
    const failing = pack(
      'acme.tools',
      'actions: {no: {kind: builtin.assert}}\nworkflows:\n  w:\n    version: 1.0.0\n    inputSchema: {}\n    outputSchema: {}\n    tasks:\n      - {id: x, uses: "action:no", with: {that: false}}',
    )
    desk.put('tools.yaml', failing)
    desk.put('flow.yaml', using(declared(), 'workflow:acme.tools.w'))
    const ended = await desk.cli('run', 'flow.yaml', ...json)
    const [finding] = envelopeOf(ended).diagnostics.filter(({ severity }) => severity === 'error')
    expect([ended.code, finding?.file, finding?.line]).toEqual([4, 'tools.yaml', 12])
  })
})
