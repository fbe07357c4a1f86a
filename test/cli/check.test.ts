import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDesk, type Desk, documentOf, envelopeOf, gated } from './support.ts'

let desk: Desk
beforeAll(() => {
  desk = createDesk()
})
afterAll(() => desk.dispose())

const head = 'apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata: {name: broken}\n'

test('every fault is printed with file, line and column', async () => {
  desk.put(
    'broken.yaml',
    `${head}spec:
  colour: blue
  actions:
    write: {kind: builtin.write, size: 3}
  tasks:
    - {id: a, uses: 'action:absent'}
    - {id: a, uses: 'action:write', with: {path: '\${{ inputs. }}', content: x}}
    - {id: b, needs: [c], uses: 'action:write', with: {path: p, content: x}}
`,
  )
  const human = await desk.cli('check', 'broken.yaml')
  expect(human.code).toBe(2)
  const places = [...human.stderr.matchAll(/^broken\.yaml:(\d+):(\d+): error/gm)].map(match => Number(match[1]))
  expect(new Set(places)).toEqual(new Set([5, 7, 9, 10, 11]))

  const { diagnostics } = envelopeOf(await desk.cli('check', 'broken.yaml', '--output', 'json'))
  expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ line }) => line)).toEqual(places)
  for (const found of diagnostics)
    expect(Object.keys(found).sort()).toEqual(['code', 'column', 'file', 'help', 'line', 'message', 'path', 'severity'])
})

const bomb = `${head}spec:\n  vars:\n    a0: &a0 [x, x, x, x, x, x, x, x, x]\n${Array.from(
  { length: 12 },
  (_, level) => `    a${level + 1}: &a${level + 1} [${Array.from({ length: 9 }, () => `*a${level}`).join(', ')}]\n`,
).join('')}`

test.each([
  ['a YAML bomb', bomb],
  ['2 MiB', `${head}spec: {description: ${'x'.repeat(2_097_152)}}\n`],
  ['80,000 keys', `${head}spec:\n vars:\n${Array.from({ length: 80_000 }, (_, i) => `  k${i}: 1\n`).join('')}`],
  ['80,000 equal keys', `${head}spec:\n  vars:\n${'    k: 1\n'.repeat(80_000)}`],
  ['deep nesting', `${head}spec: {vars: {a: ${'['.repeat(20_000)}`],
])('%s is refused at its place in under 3 s', async (_, text) => {
  desk.put('hostile.yaml', text)
  const { code, stderr, seconds } = await desk.timed('check', 'hostile.yaml')
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^hostile\.yaml:\d+:\d+: error/m)])
  // Of processor time: other tests share the machine.
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThan(3)
})

test.each([
  [
    'not UTF-8',
    Buffer.concat([Buffer.from('a: é\nb: '), Buffer.from([0xff, 0x0a])]),
    /^odd\.yaml:2:4: error .*not UTF-8/m,
  ],
  ['UTF-16', Buffer.from(`\ufeff${gated}`, 'utf16le'), /^odd\.yaml:1:1: error .*UTF-16/m],
  ['a byte order mark', Buffer.from(`\ufeff${gated}`), /^odd\.yaml:1:1: error .*byte order mark/m],
  ['empty', Buffer.from(''), /odd\.yaml:1:1: error/],
])('a file that is %s is named', async (_, bytes, expected) => {
  desk.put('odd.yaml', bytes)
  const { code, stderr } = await desk.cli('check', 'odd.yaml')
  expect([code, stderr]).toEqual([2, expect.stringMatching(expected)])
})

test('a directory, a pipe and a missing file are named', async () => {
  mkdirSync(`${desk.directory}/folder.yaml`)
  execFileSync('mkfifo', [`${desk.directory}/pipe.yaml`])
  const said = await Promise.all(['folder', 'pipe', 'absent'].map(name => desk.cli('check', `${name}.yaml`)))
  expect(said.map(({ code, stderr }) => [code, /yaml: error unreadable_file: (.*)/.exec(stderr)?.[1]])).toEqual([
    [2, 'folder.yaml is a directory'],
    [2, 'pipe.yaml is not a regular file'],
    [2, 'absent.yaml does not exist'],
  ])
})

test('plan gives the same bytes, wherever it is called from', async () => {
  desk.put('sub/plan.yaml', gated)
  const one = await desk.cli('plan', 'sub/plan.yaml', '--output', 'json')
  const two = await desk.cli('plan', 'sub/plan.yaml', '--output', 'json', '--color', 'always')
  const there = await desk.cli('plan', `${desk.directory}/sub/plan.yaml`, '--output=json')
  expect(one.code).toBe(0)
  expect(two.stdout).toBe(one.stdout)
  expect(there.stdout).toBe(one.stdout)
  expect(envelopeOf(one).data.plan).toMatchObject({ formatVersion: 1, order: ['gated'] })
})

test('inputs and variables come from the command line and from files', async () => {
  desk.put('vars.yaml', 'who: file\n')
  desk.put('more.yaml', 'who: given\n')
  desk.put('inputs.yaml', 'count: 1\nname: from file\n')
  desk.put(
    'inputs-document.yaml',
    documentOf({
      inputs: { count: 0, name: '', flag: false },
      varsFiles: ['vars.yaml'],
      actions: { assign: { kind: 'builtin.assign' } },
      tasks: [{ id: 'a', uses: 'action:assign', with: { all: '${{ inputs }}', who: '${{ vars.who }}' } }],
    }).replace('"${{ inputs }}"', '"${{ inputs.name }}"'),
  )
  const argv = [
    '--inputs-file',
    'inputs.yaml',
    '--input',
    'count=2',
    '--input',
    'flag=true',
    '--vars-file',
    'more.yaml',
  ]
  const { data } = envelopeOf(await desk.cli('plan', 'inputs-document.yaml', ...argv, '--output', 'json'))
  expect(data.plan).toMatchObject({ inputs: { count: 2, name: 'from file', flag: true }, vars: { who: 'given' } })

  const refused = ['count=9007199254740993', 'novalue', '=x', 'absent=1', '__proto__=1']
  const said = await Promise.all(refused.map(input => desk.cli('plan', 'inputs-document.yaml', '--input', input)))
  expect(said.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2])
})

test('schema prints a JSON Schema', async () => {
  const { code, stdout } = await desk.cli('schema')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' })
})

test('plan shows people the image and the engine of a container', async () => {
  const image = `sha256:${'0'.repeat(64)}`
  const spec = {
    actions: {
      x: {
        kind: 'builtin.shell.exec',
        command: 'true',
        isolation: 'container',
        container: { image, runtime: 'podman' },
      },
    },
    tasks: [{ id: 'a', uses: 'action:x' }],
  }
  desk.put(
    'contained.json',
    JSON.stringify({ apiVersion: 'agentctl.dev/v1', kind: 'Workflow', metadata: { name: 'x' }, spec }),
  )
  const { stdout } = await desk.cli('plan', 'contained.json')
  expect(stdout).toMatch(new RegExp(`^ +image ${image}, engine podman$`, 'm'))
})
