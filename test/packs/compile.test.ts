import { describe, expect, it } from 'vitest'
import { parseDocument, readNamedFiles, workflowDigest } from '../../policy/document/index.ts'
import { build, planOf, workflow } from '../document/support.ts'
import { assign, declared, integrityOf, pack, using } from './support.ts'

type Files = { [path: string]: string }

/** `file:line path code message` of each error, `help` left out. */
function errorsOf(text: string, files: Files): string[] {
  const { plan, diagnostics } = build(text, { files })
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  expect(plan === null).toBe(errors.length > 0)
  return errors.map(({ file, line, path, code, message }) => `${file}:${line} ${path} ${code} ${message}`)
}

const echo = `
workflows:
  echo:
    version: 1.0.0
    inputs: {value: default}
    inputSchema: {type: object}
    outputSchema: {type: object}
    outputs: {value: "\${{ tasks.inner.output.after.value }}"}
    tasks:
      - id: inner
        uses: action:assign
        with: {value: "\${{ inputs.value }}"}
actions: {assign: {kind: builtin.assign}}`

describe('a pack', () => {
  it('gives its actions and sub-workflows under its name', () => {
    const plan = planOf(using(declared(), 'workflow:acme.tools.echo'), {
      files: { 'tools.yaml': pack('acme.tools', echo) },
    })
    expect(plan.order).toEqual(['a--_inputs', 'a--inner', 'a'])
    expect(plan.tasks['a--inner']).toMatchObject({
      uses: 'action:acme.tools.assign',
      action: { name: 'acme.tools.assign' },
    })
    expect(plan.sourceFiles).toEqual(['tools.yaml'])
  })

  it('says in which file and line a task of its own stands, and the document where its own do', () => {
    const { tasks } = planOf(using(declared(), 'workflow:acme.tools.echo'), {
      files: { 'tools.yaml': pack('acme.tools', echo) },
    })
    expect(tasks['a--inner']?.source).toEqual({ file: 'tools.yaml', line: 14, column: 9 })
    expect(tasks['a']?.source).toEqual({ line: 6, column: 11 })
  })

  it('brings the packs that it depends on, each once, from the directory of the document', () => {
    const top = pack(
      'acme.top',
      'dependencies: {acme.base: {version: "^1.0", source: {path: packs/base.yaml}}}\nactions: {own: {kind: builtin.assign}}',
    )
    const files = { 'flows/packs/top.yaml': top, 'flows/packs/base.yaml': pack('acme.base', echo) }
    const text = using(declared({ name: 'acme.top', path: 'packs/top.yaml' }), 'workflow:acme.base.echo')
    const plan = planOf(text, { files, file: 'flows/release.yaml' })
    expect(plan.sourceFiles).toEqual(['flows/packs/base.yaml', 'flows/packs/top.yaml'])
  })

  it('uses items of its dependencies by their full names', () => {
    const top = pack(
      'acme.top',
      'dependencies: {acme.tools: {version: "1", source: {path: tools.yaml}}}\n' +
        'workflows: {w: {version: 1.0.0, inputSchema: {}, outputSchema: {}, tasks: [{id: x, uses: "action:acme.tools.assign"}]}}',
    )
    const text = using(declared({ name: 'acme.top', path: 'top.yaml' }), 'workflow:acme.top.w')
    expect(planOf(text, { files: { 'top.yaml': top, 'tools.yaml': assign } }).tasks['a--x']?.action.name).toBe(
      'acme.tools.assign',
    )
  })

  it('counts for the digests of workflow and plan, byte for byte', () => {
    const digests = [assign, `${assign}# reviewed\n`].map(text => {
      const { workflowDigest: workflowOf, planDigest } = planOf(using(declared()), { files: { 'tools.yaml': text } })
      return [workflowOf, planDigest]
    })
    expect(digests[0]).not.toEqual(digests[1])
    const { document } = parseDocument({ text: using(declared()), file: 'test.yaml' })
    if (document === null) throw new Error('no document')
    expect(workflowDigest(document, { 'tools.yaml': assign })).toBe(digests[0]?.[0])
  })

  it('counts with the bytes of those that it depends on', () => {
    const top = pack(
      'acme.tools',
      'dependencies: {b: {version: "*", source: {path: b.yaml}}}\nactions: {assign: {kind: builtin.assign}}',
    )
    const [one, other] = [pack('b', ''), `${pack('b', '')}# changed\n`].map(
      base => planOf(using(declared()), { files: { 'tools.yaml': top, 'b.yaml': base } }).workflowDigest,
    )
    expect(one).not.toBe(other)
  })

  it('is found with all that it depends on, each file read once', () => {
    const depends = (name: string) => `dependencies: {${name}: {version: "*", source: {path: ${name}.yaml}}}`
    const files: Files = {
      'tools.yaml': pack('acme.tools', depends('b')),
      'b.yaml': pack('b', depends('c')),
      'c.yaml': pack('c', ''),
    }
    const { document } = parseDocument({ text: using(declared()), file: 'test.yaml' })
    if (document === null) throw new Error('no document')
    const asked: string[] = []
    const read = readNamedFiles(document, path => {
      asked.push(path)
      return files[path] ?? null
    })
    expect(asked).toEqual(['tools.yaml', 'b.yaml', 'c.yaml'])
    expect(read).toEqual(files)
  })
})

describe('integrity', () => {
  const text = (integrity: string) => using(declared({ integrity }))

  it('lets the reviewed bytes through', () => {
    expect(errorsOf(text(integrityOf(assign)), { 'tools.yaml': assign })).toEqual([])
  })

  it('refuses any other byte, before anything of the file is read', () => {
    const changed = assign.replace('assign:', 'assign: {kind: nonsense')
    expect(errorsOf(text(integrityOf(assign)), { 'tools.yaml': changed })).toEqual([
      `test.yaml:5 spec.packs[0].integrity policy_denied pack \`acme.tools\`: tools.yaml has ${integrityOf(changed)}, not the ${integrityOf(assign)} that its integrity names`,
    ])
  })

  it('is held of a dependency too', () => {
    const top = pack(
      'acme.top',
      `dependencies: {acme.tools: {version: "*", source: {path: tools.yaml}, integrity: "${integrityOf('x')}"}}`,
    )
    const documents = using([declared({ name: 'acme.top', path: 'top.yaml' }), declared()])
    const [one] = errorsOf(documents, { 'top.yaml': top, 'tools.yaml': assign })
    expect(one).toMatch(
      /^top\.yaml:5 dependencies\.acme\.tools\.integrity policy_denied pack `acme\.tools`: tools\.yaml has sha256:/,
    )
  })

  it('that stops at a dependency is warned of, until the document pins that too', () => {
    const top = pack('acme.top', 'dependencies: {acme.tools: {version: "*", source: {path: tools.yaml}}}')
    const files = { 'top.yaml': top, 'tools.yaml': assign }
    const first = declared({ name: 'acme.top', path: 'top.yaml', integrity: integrityOf(top) })
    const warnings = (packs: string[]) => build(using(packs), { files }).diagnostics.map(({ message }) => message)
    expect(warnings([first])).toEqual([
      'pack `acme.top` is pinned by its integrity, `acme.tools` that it depends on is not',
    ])
    expect(warnings([first, declared({ integrity: integrityOf(assign) })])).toEqual([])
  })
})

describe('what is refused, where it is wrong', () => {
  const oneFile = (text: string) => ({ 'tools.yaml': text })
  it.each<[string, string, Files, string[]]>([
    [
      'a file that is not there',
      using(declared()),
      {},
      ['test.yaml:5 spec.packs[0].source.path missing_reference pack `acme.tools`: the file tools.yaml cannot be read'],
    ],
    [
      'a path that leads up',
      using(declared({ path: '../tools.yaml' })),
      oneFile(assign),
      [
        'test.yaml:5 spec.packs[0].source.path schema_violation `../tools.yaml` is not a relative path inside the workspace',
      ],
    ],
    [
      'an absolute path',
      using(declared({ path: '/tools.yaml' })),
      oneFile(assign),
      [
        'test.yaml:5 spec.packs[0].source.path schema_violation `/tools.yaml` is not a relative path inside the workspace',
      ],
    ],
    [
      'another name',
      using(declared({ name: 'acme.other' }), 'action:acme.other.assign'),
      oneFile(assign),
      ['test.yaml:5 spec.packs[0].name missing_reference the pack in tools.yaml is `acme.tools`, not `acme.other`'],
    ],
    [
      'a version outside the range',
      using(declared({ version: '^2' })),
      oneFile(assign),
      [
        'test.yaml:5 spec.packs[0].version missing_reference the document asks for `acme.tools` ^2; tools.yaml is 1.2.0',
      ],
    ],
    [
      'no range at all',
      using(declared({ version: 'latest' })),
      oneFile(assign),
      [
        'test.yaml:5 spec.packs[0].version schema_violation version of pack `acme.tools` is `latest`, which is no range',
      ],
    ],
    [
      'twice one name',
      using([declared(), declared()]),
      oneFile(assign),
      ['test.yaml:5 spec.packs[1].name schema_violation pack `acme.tools` is declared twice'],
    ],
    [
      'a version that is none',
      using(declared()),
      oneFile(pack('acme.tools', '', { version: 'one' })),
      ['tools.yaml:3 version schema_violation version is `one`: a version has three numbers, `1.2.0`'],
    ],
    [
      'another language',
      using(declared()),
      oneFile(pack('acme.tools', '', { agentctl: '^0.4' })),
      [
        'tools.yaml:4 agentctl unsupported_version the pack asks for version ^0.4 of the document language; this is 0.3.0',
      ],
    ],
    [
      'another manifest',
      using(declared()),
      oneFile(assign.replace('v1alpha1', 'v9')),
      ['tools.yaml:1 apiVersion unsupported_version apiVersion `agentctl.dev/pack/v9` is not known of a pack'],
    ],
    [
      'no map',
      using(declared()),
      oneFile('- 1\n'),
      ['tools.yaml:1  schema_violation a pack is a map with apiVersion, name, version and agentctl'],
    ],
    [
      'broken YAML',
      using(declared()),
      oneFile('name: [\n'),
      [expect.stringMatching(/^tools\.yaml:\d+ {2}yaml_syntax /)],
    ],
    [
      'a doubled key',
      using(declared()),
      oneFile(`${assign}name: again\n`),
      [expect.stringMatching(/^tools\.yaml:6 {2}yaml_syntax .*`name`/)],
    ],
    [
      'a tag',
      using(declared()),
      oneFile(pack('acme.tools', 'capabilities: !!set {a}')),
      [expect.stringMatching(/^tools\.yaml:5 {2}yaml_syntax /)],
    ],
    [
      'more than 1 MiB',
      using(declared()),
      oneFile(`${assign}#${'x'.repeat(1_048_576)}`),
      [expect.stringMatching(/^tools\.yaml:1 {2}yaml_syntax .*larger than 1 MiB/)],
    ],
    [
      'deep nesting',
      using(declared()),
      oneFile(pack('acme.tools', `actions: ${'['.repeat(70)}${']'.repeat(70)}`)),
      [expect.stringMatching(/^tools\.yaml:5 {2}yaml_syntax /)],
    ],
    [
      'an unknown field of an action',
      using(declared()),
      oneFile(pack('acme.tools', 'actions: {assign: {kind: builtin.assign, comand: x}}')),
      ['tools.yaml:5 actions.assign.comand schema_violation unknown field `comand`'],
    ],
    [
      'an unknown kind',
      using(declared()),
      oneFile(pack('acme.tools', 'actions: {assign: {kind: builtin.asign}}')),
      [
        expect.stringMatching(
          /^tools\.yaml:5 actions\.assign\.kind schema_violation actions\.assign\.kind is `builtin\.asign`/,
        ),
      ],
    ],
    [
      'an action that its kind refuses',
      using(declared()),
      oneFile(pack('acme.tools', 'actions: {assign: {kind: builtin.assign, args: [a]}}')),
      ['tools.yaml:5 actions.assign.args schema_violation `args` has no meaning for builtin.assign'],
    ],
    [
      "a secret outside the document's roots",
      using(declared(), 'action:acme.tools.run', 'packTrust: {unsigned: allow, allowUnsignedProcess: true}'),
      oneFile(
        pack(
          'acme.tools',
          'actions: {run: {kind: extension.process, command: /bin/sh, protocolVersion: agentctl.dev/process-extension/v1, capabilities: [], inputSchema: {}, outputSchema: {}, env: {A: {file: /etc/key}}}}',
        ),
      ),
      [
        'tools.yaml:5 actions.run.env.A invalid_secret_reference the secret file /etc/key lies under no secretFileRoots of the policy',
      ],
    ],
    [
      'an item that is not there',
      using(declared(), 'action:acme.tools.asign'),
      oneFile(assign),
      ['test.yaml:6 spec.tasks[0].uses missing_reference spec.actions has no `acme.tools.asign`'],
    ],
    [
      'an item of the document',
      `${using(declared(), 'workflow:acme.tools.w')}  actions: {mine: {kind: builtin.assign}}\n`,
      oneFile(
        pack(
          'acme.tools',
          'workflows: {w: {version: 1.0.0, inputSchema: {}, outputSchema: {}, tasks: [{id: x, uses: "action:mine"}]}}',
        ),
      ),
      [
        'tools.yaml:5 workflows.w.tasks[0].uses missing_reference pack `acme.tools` has no `mine` in actions, and depends on no pack that does',
      ],
    ],
    [
      'an item of the document whose name begins as that of a dependency',
      `${using(declared(), 'workflow:acme.tools.w')}  actions: {acme.base.mine: {kind: builtin.assign}}\n`,
      {
        'tools.yaml': pack(
          'acme.tools',
          'dependencies: {acme.base: {version: "^1", source: {path: base.yaml}}}\nworkflows: {w: {version: 1.0.0, inputSchema: {}, outputSchema: {}, tasks: [{id: x, uses: "action:acme.base.mine"}]}}',
        ),
        'base.yaml': pack('acme.base', 'actions: {own: {kind: builtin.assign}}'),
      },
      [
        'tools.yaml:6 workflows.w.tasks[0].uses missing_reference pack `acme.tools` has no `acme.base.mine` in actions, and depends on no pack that does',
      ],
    ],
    [
      'an item of a pack that it does not depend on, whose name begins as that of a dependency',
      using([declared(), declared({ name: 'acme.base.more', path: 'more.yaml' })], 'workflow:acme.tools.w'),
      {
        'tools.yaml': pack(
          'acme.tools',
          'dependencies: {acme.base: {version: "^1", source: {path: base.yaml}}}\nworkflows: {w: {version: 1.0.0, inputSchema: {}, outputSchema: {}, tasks: [{id: x, uses: "action:acme.base.more.act"}]}}',
        ),
        'base.yaml': pack('acme.base', 'actions: {own: {kind: builtin.assign}}'),
        'more.yaml': pack('acme.base.more', 'actions: {act: {kind: builtin.assign}}'),
      },
      [
        'tools.yaml:6 workflows.w.tasks[0].uses missing_reference pack `acme.tools` has no `acme.base.more.act` in actions, and depends on no pack that does',
      ],
    ],
    [
      'a name that the document has',
      `${using(declared())}  actions: {acme.tools.assign: {kind: builtin.assign}}\n`,
      oneFile(assign),
      [
        'test.yaml:8 spec.actions.acme.tools.assign schema_violation `acme.tools.assign` is defined here and by pack `acme.tools`',
      ],
    ],
    [
      'files of its own',
      using(declared()),
      oneFile(
        pack(
          'acme.tools',
          'actions: {assign: {kind: builtin.assign}}\nworkflows: {w: {version: 1.0.0, inputSchema: {}, outputSchema: {}, tasks: [{id: x, uses: "action:assign", varsFiles: [v.yaml]}]}}',
        ),
      ),
      [
        'tools.yaml:6 workflows.w.tasks[0].varsFiles schema_violation `varsFiles` cannot stand in a pack: its integrity would not cover those files',
      ],
    ],
    [
      'a provider that the document lacks',
      using(declared()),
      oneFile(pack('acme.tools', 'providers: [openai]\nactions: {assign: {kind: builtin.assign}}')),
      [
        'tools.yaml:5 providers[0] missing_reference pack `acme.tools` needs the provider `openai`, which the document does not define',
      ],
    ],
  ])('%s', (_, text, files, expected) => {
    expect(errorsOf(text, files)).toEqual(expected)
  })

  it.each([
    'policy',
    'policyDefaults',
    'packTrust',
    'memory',
    'runtime',
    'tasks',
    'spec',
    'mcpServers',
    'a2aPeers',
    'compensation',
  ])('a pack has no field %s', field => {
    const [one] = errorsOf(using(declared()), oneFile(`${assign}${field}: {}\n`))
    expect(one).toBe(`tools.yaml:6 ${field} schema_violation unknown field \`${field}\``)
  })

  it('packs in a circle, by name', () => {
    const depends = (name: string, on: string) =>
      pack(name, `dependencies: {${on}: {version: "*", source: {path: ${on}.yaml}}}`)
    const files = { 'a.yaml': depends('a', 'b'), 'b.yaml': depends('b', 'c'), 'c.yaml': depends('c', 'a') }
    const [one, ...more] = errorsOf(using(declared({ name: 'a', path: 'a.yaml' }), 'action:a.x'), files)
    expect([one, more.length]).toEqual([
      'c.yaml:5 dependencies.a dependency_cycle packs depend on each other in a circle: a -> b -> c -> a',
      1,
    ])
  })

  it('a dependency whose version does not fit, or whose file is another', () => {
    const top = (version: string, path: string) =>
      pack('acme.top', `dependencies: {acme.tools: {version: "${version}", source: {path: ${path}}}}`)
    const text = using([declared({ name: 'acme.top', path: 'top.yaml' }), declared()])
    expect(errorsOf(text, { 'top.yaml': top('^2', 'tools.yaml'), 'tools.yaml': assign })).toEqual([
      'top.yaml:5 dependencies.acme.tools.version missing_reference pack `acme.top` asks for `acme.tools` ^2; tools.yaml is 1.2.0',
    ])
    expect(errorsOf(text, { 'top.yaml': top('^1', 'own.yaml'), 'tools.yaml': assign, 'own.yaml': assign })).toEqual([
      'top.yaml:5 dependencies.acme.tools.source.path schema_violation pack `acme.top` takes `acme.tools` from own.yaml, the document from tools.yaml',
    ])
  })

  it('more packs than 64', () => {
    const chain = Array.from({ length: 66 }, (_, index) => [
      `p${index}.yaml`,
      pack(`p${index}`, `dependencies: {p${index + 1}: {version: "*", source: {path: p${index + 1}.yaml}}}`),
    ])
    const [one] = errorsOf(using(declared({ name: 'p0', path: 'p0.yaml' }), 'action:p0.x'), Object.fromEntries(chain))
    expect(one).toContain('p63.yaml:5 dependencies.p64 schema_violation a document has at most 64 packs')
  })

  it('faults of the document stand beside those of packs', () => {
    const text = `${using(declared())}  surprise: 1\n`
    expect(errorsOf(text, oneFile(pack('acme.tools', 'surprise: 2')))).toEqual([
      'tools.yaml:5 surprise schema_violation unknown field `surprise`',
      'test.yaml:8 spec.surprise schema_violation unknown field `surprise`',
    ])
  })
})

describe('packTrust', () => {
  const shell = pack(
    'acme.tools',
    'actions: {assign: {kind: builtin.assign}, run: {kind: builtin.shell.exec, command: /bin/true}}',
  )
  const withTrust = (trust: string, text: string) => {
    const { plan, diagnostics } = build(using(declared(), undefined, trust), { files: { 'tools.yaml': text } })
    return [plan !== null, ...diagnostics.map(({ severity, code, message }) => `${severity} ${code} ${message}`)]
  }
  const warned = 'warning policy_denied pack `acme.tools` is unsigned; packTrust.unsigned: warn lets it be used'
  const denied = 'error policy_denied pack `acme.tools` is unsigned, which packTrust.unsigned: deny refuses'
  const process =
    'error policy_denied unsigned pack `acme.tools` has process actions (`run`), which packTrust.allowUnsignedProcess: false refuses'

  it.each<[string, string, unknown[]]>([
    ['', assign, [true, warned]],
    ['packTrust: {}', assign, [true, warned]],
    ['packTrust: {unsigned: warn}', assign, [true, warned]],
    ['packTrust: {unsigned: allow}', assign, [true]],
    ['packTrust: {unsigned: deny}', assign, [false, denied]],
    ['packTrust: {unsigned: allow}', shell, [false, process]],
    ['packTrust: {unsigned: allow, allowUnsignedProcess: false}', shell, [false, process]],
    ['packTrust: {unsigned: allow, allowUnsignedProcess: true}', shell, [true]],
    ['packTrust: {allowUnsignedProcess: true}', shell, [true, warned]],
    ['packTrust: {unsigned: deny, allowUnsignedProcess: true}', shell, [false, denied]],
  ])('%s', (trust, text, expected) => {
    expect(withTrust(trust, text)).toEqual(expected)
  })

  it('is asked of the packs that others bring', () => {
    const top = pack('acme.top', 'dependencies: {acme.tools: {version: "*", source: {path: tools.yaml}}}')
    const text = using(declared({ name: 'acme.top', path: 'top.yaml' }))
    expect(errorsOf(text, { 'top.yaml': top, 'tools.yaml': shell })).toEqual([
      `top.yaml:5 dependencies.acme.tools ${process.slice('error '.length)}`,
    ])
  })
})

it('a document without packs is not touched', () => {
  const text = workflow('actions: {a.b: {kind: builtin.assign}}\ntasks: [{id: a, uses: "action:a.b"}]')
  expect(planOf(text).sourceFiles).toEqual([])
})
