import { describe, expect, it } from 'vitest'
import { parseDocument } from '../../policy/document/index.ts'
import { readYaml } from '../../policy/document/yaml/read.ts'
import type { YamlFault } from '../../policy/document/yaml/tree.ts'
import { toValue } from '../../policy/document/yaml/value.ts'
import { build, planOf, shown, smallest, workflow } from './support.ts'

function read(text: string) {
  const { tree, faults } = readYaml(text)
  const found: YamlFault[] = [...faults]
  const value = tree === null ? undefined : toValue(tree, found)
  return { value, faults: found.map(({ offset, message }) => `${offset} ${message}`) }
}

describe('values', () => {
  it.each([
    ['a: 1\nb: [x, true, ~, 1.5, 0x1F, 0o17]', { a: 1, b: ['x', true, null, 1.5, 31, 15] }],
    ['a: yes\nb: 2001-01-01\nc: 1_000\nd: 010', { a: 'yes', b: '2001-01-01', c: '1_000', d: 10 }],
    ['a: -0', { a: 0 }],
    ['1: x\ntrue: y\n~: z', { '1': 'x', true: 'y', '~': 'z' }],
    ['"": empty', { '': 'empty' }],
    ['a: &x {k: v}\nb: *x', { a: { k: 'v' }, b: { k: 'v' } }],
    ['a: &x [1]\nb: &x [2]\nc: *x', { a: [1], b: [2], c: [2] }],
    ['&k key: 1\nb: *k', { key: 1, b: 'key' }],
    ['a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}', { a: { k: 1, l: 2 }, b: { k: 3, l: 2 } }],
    ['a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}', { a: { k: 1 }, b: { k: 2, m: 3 }, c: { k: 1, m: 3 } }],
    ['a: {"<<": 1}', { a: { '<<': 1 } }],
    ['constructor: 1\ntoString: 2', { constructor: 1, toString: 2 }],
    ['a: "\\ud83d\\ude00"', { a: '😀' }],
    ['%YAML 1.2\n---\na: 1', { a: 1 }],
    ['a: |\n  one\n  two\n', { a: 'one\ntwo\n' }],
  ])('%s', (text, value) => {
    expect(read(text)).toEqual({ value, faults: [] })
  })
})

describe('refusals', () => {
  it.each([
    ['a: 1\nb: 2\na: 3', '10 duplicate key `a`'],
    ['a: {b: 1, b: 2}', '10 duplicate key `b`'],
    ['1: x\n"1": y', '5 duplicate key `1`'],
    ['a: &x {}\nb: {<<: *x, <<: *x}', '21 duplicate key `<<`'],
    ['__proto__: 1', '0 the key `__proto__` is not accepted'],
    ['a: {"__proto__": {}}', '4 the key `__proto__` is not accepted'],
    ['a: 9007199254740992', '3 9007199254740992 is beyond'],
    ['a: -9007199254740992', '3 -9007199254740992 is beyond'],
    ['a: 1e30', '3 1e30 is beyond'],
    ['a: .inf', '3 .inf is not a finite number'],
    ['a: .NaN', '3 .NaN is not a finite number'],
    ['a: 1e999', '3 1e999 is not a finite number'],
    ['a: !!str 1', 'the tag tag:yaml.org,2002:str is not accepted'],
    ['a: !custom x', 'the tag !custom is not accepted'],
    ['? [a]\n: 1', '2 a key is a scalar'],
    ['? {a: b}\n: 1', '2 a key is a scalar'],
    [': 1', 'a key is missing'],
    ['a: *missing', '3 no anchor &missing'],
    ['a: &x [*x]', '7 *x stands inside its own anchor'],
    ['a: 1\nb: {<<: 5}', '`<<` merges maps'],
    ['a: "\\ud800"', '3 the text is not well-formed Unicode'],
    ['a: 1\n---\nb: 2', 'the file holds a second document'],
    ['%YAML 1.1\n---\na: 1', '0 YAML 1.1 is not read'],
    ['\uFEFFa: 1', '0 the document starts with a byte order mark'],
    ['a: \u0000', '3 the character U+0000 cannot stand'],
    ['a: "\u0007"', '4 the character U+0007 cannot stand'],
    ['a: \ud800', '0 the document is not well-formed Unicode'],
    ['a:\n\tb: 1', 'Tabs are not allowed'],
    ['a: [1, 2', ''],
    ['a: {b: 1', ''],
    ['a: "x', ''],
  ])('%j', (text, message) => {
    const { faults } = read(text)
    expect(faults.length).toBeGreaterThan(0)
    expect(faults[0]).toContain(message)
  })

  it('says where a duplicate key stands first', () => {
    const { diagnostics } = parseDocument({ text: `${workflow(smallest)}kind: Workflow\n`, file: 'x.yaml' })
    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'yaml_syntax',
        message: 'duplicate key `kind`',
        help: 'it stands first at 2:1',
        line: 7,
        column: 1,
      }),
    )
  })

  it('reports every fault at once, with line and column', () => {
    const text = workflow(`
      inputs: {n: 9007199254740993, x: !t 1}
      vars: {a: 1, a: 2}
      actions: {assign: {kind: builtin.assign}}
      tasks: [{id: a, uses: "action:assign", surprise: 1}]
    `)
    expect(shown(build(text).diagnostics)).toEqual([
      '5:15 yaml_syntax 9007199254740993 is beyond 2^53 - 1, so it would lose digits',
      '5:39 yaml_syntax the tag !t is not accepted',
      '6:16 yaml_syntax duplicate key `a`',
      '8:42 schema_violation unknown field `surprise`',
    ])
  })

  it('reports at most a hundred errors', () => {
    const tasks = Array.from({ length: 500 }, (_, index) => `- {id: t${index}, uses: "action:none${index}"}`)
    const { diagnostics } = build(
      workflow(`tasks:\n${tasks.map(task => `        ${task}`).join('\n')}`.replace(/^ {8}/gm, '  ')),
    )
    expect(diagnostics).toHaveLength(100)
  })
})

/** Documents that are hostile to a parser: each must be told from a document within 3 s, on a machine that is busy too. */
describe('bombs', () => {
  const mebibyte = 1_048_576
  const repeat = (text: string, bytes = mebibyte / 2): string => text.repeat(Math.floor(bytes / text.length))
  const laughs = (): string => {
    let text = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n'
    for (let level = 1; level < 12; level++)
      text += `a${level}: &a${level} [${Array(9)
        .fill(`*a${level - 1}`)
        .join(', ')}]\n`
    return text
  }
  const merges = (): string => {
    let text = 'm0: &m0 {a: 1, b: 2}\n'
    for (let level = 1; level < 5000; level++) text += `m${level}: &m${level} {<<: *m${level - 1}, k${level}: 1}\n`
    return text
  }
  const keys = (count: number, key: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => `${key(index)}: 1`).join('\n')

  it.each([
    ['billion laughs', laughs()],
    ['growing merges', merges()],
    ['2 MiB', repeat('# x\n', 2 * mebibyte)],
    ['80,000 flat keys', keys(80_000, index => `k${index}`)],
    ['80,000 duplicate keys', keys(80_000, () => 'k')],
    ['80,000 inputs', `${workflow(smallest)}  inputs:\n${keys(80_000, index => `    k${index}`)}\n`],
    ['open brackets', `a: ${repeat('[')}`],
    ['open braces', `a: ${repeat('{a: ')}`],
    ['closed brackets', `a: ${repeat(']')}`],
    ['commas', `a: [${repeat(',')}]`],
    ['dashes', repeat('- ')],
    ['question marks', repeat('? ')],
    ['colons', repeat('a: ')],
    ['tags', repeat('! ')],
    ['unknown tags', repeat('- !x y\n')],
    ['anchors', repeat('- &a x\n')],
    ['aliases', `- &a x\n${repeat('- *a\n')}`],
    ['second documents', repeat('[]\n')],
    ['directives', repeat('%x\n')],
    ['tabs', repeat('\ta: b\n')],
    ['nested implicit keys', repeat('a: b: c\n')],
    ['escaped line ends', `a: "${repeat('\\\n')}"`],
    [
      'bare scalars in a list of strings',
      workflow(`
      policy: {processAllowlist: [${Array(90_000).fill('1').join(',')}]}
      tasks: []
    `),
    ],
    ['thousands of faulty tasks', workflow(`tasks: [${Array(20_000).fill('{id: 1, uses: 2}').join(',')}]`)],
  ])('%s', (_, text) => {
    const before = process.cpuUsage()
    const { plan, diagnostics } = build(text)
    const { user, system } = process.cpuUsage(before)
    if (plan === null) expect(diagnostics.length).toBeGreaterThan(0)
    expect(diagnostics.length).toBeLessThanOrEqual(100)
    expect((user + system) / 1e6).toBeLessThan(3)
  })

  it('counts what stands behind aliases', () => {
    expect(shown(build(laughs()).diagnostics)[0]).toContain(
      'more than 200000 values, those behind aliases counted each time',
    )
  })

  it('bounds depth at 64, through aliases too', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    // The document, spec and vars are the first three of the 64 levels.
    const text = (depth: number): string => `${workflow(smallest)}  vars: {x: ${nested(depth)}}\n`
    expect(build(text(61)).diagnostics).toEqual([])
    expect(shown(build(text(62)).diagnostics)[0]).toContain('nested deeper than 64')
    const aliased = text(1).replace(
      'vars: {x: []}',
      `vars: {x: &x ${nested(40)}, y: [${'['.repeat(30)}*x${']'.repeat(30)}]}`,
    )
    expect(shown(build(aliased).diagnostics)[0]).toContain('*x nests the document deeper than 64 levels')
  })

  it('accepts exactly 1 MiB of UTF-8', () => {
    const base = workflow(smallest)
    const filled = (bytes: number): string => `${base}# ${'é'.repeat((bytes - base.length - 2) >> 1)}`
    const exact = filled(mebibyte - ((mebibyte - base.length) % 2))
    expect(build(exact).plan).not.toBeNull()
    expect(shown(build(`${exact}éé`).diagnostics)[0]).toContain('larger than 1 MiB')
  })
})

describe('anchors', () => {
  it('reports a fault at the alias, with the anchor in help', () => {
    const text = workflow(`
      vars: {limits: &l {maxConcurrency: 99}}
      runtime: *l
      actions: {assign: {kind: builtin.assign}}
      tasks: [{id: a, uses: "action:assign"}]
    `)
    expect(build(text).diagnostics).toEqual([
      {
        code: 'schema_violation',
        severity: 'error',
        message: 'spec.runtime.maxConcurrency must be at most 64, not 99',
        file: 'test.yaml',
        line: 6,
        column: 12,
        path: 'spec.runtime.maxConcurrency',
        help: 'write 64 or less; the value comes from the anchor at 5:38',
      },
    ])
  })

  it('follows merge keys to the anchor', () => {
    const text = workflow(`
      vars: {base: &b {uses: "action:missing"}}
      actions: {assign: {kind: builtin.assign}}
      tasks: [{id: a, <<: *b}]
    `)
    const [found] = build(text).diagnostics
    expect(found).toMatchObject({
      code: 'missing_reference',
      line: 7,
      column: 23,
      help: expect.stringContaining('anchor at 5:26'),
    })
  })
})

describe('bare scalars in lists of strings', () => {
  it('are their source text there, and typed everywhere else', () => {
    const text = workflow(`
      vars: {shared: &s [true, 1.0]}
      policy: {processAllowlist: *s, environmentAllowlist: [NULL, 007]}
      actions: {run: {kind: builtin.shell.exec, command: /bin/true, args: [1.50, yes, null, 0x10]}}
      tasks: [{id: a, uses: "action:run"}]
    `)
    const { effectivePolicy, vars, tasks } = planOf(text)
    expect(effectivePolicy.processAllowlist.value).toEqual(['true', '1.0'])
    expect(effectivePolicy.environmentAllowlist.value).toEqual(['NULL', '007'])
    expect(tasks['a']?.action.process?.args).toEqual(['1.50', 'yes', 'null', '0x10'])
    expect(vars).toEqual({ shared: [true, 1] })
  })

  it('are errors that show the quoted form where one string is wanted', () => {
    const text = workflow(smallest).replace('{name: test}', '{name: 1.0}')
    expect(build(text).diagnostics).toMatchObject([
      { message: 'metadata.name must be a text, not the number 1', help: 'write "1.0"', line: 3, column: 18 },
    ])
  })
})
