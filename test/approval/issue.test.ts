import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bindCommand,
  bodyDigest,
  defaultApprovalSettings,
  issueLengthMax,
  markerOf,
  parseComment,
  plainWords,
  refusalCodes,
  renderReply,
  renderStatusComment,
  statusDescription,
  webRunUrl,
} from '../../policy/approval/index.ts'
import { item, pause, process, rendered, resolved, run, write } from './pauses.ts'

const summary = { settings: { ...defaultApprovalSettings, issueDetail: 'summary' as const } }

/** Every word that a text shows as typed: code spans that are commands or plain words. */
function typedWords(text: string): string[] {
  const spans = [...text.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(match => match[1] ?? '')
  const words: readonly string[] = [...plainWords.approve, ...plainWords.reject]
  return spans.filter(span => span.startsWith('/') || words.includes(span))
}

/** What is left of a text once fences and code spans are taken out as GitHub does. */
function outsideCode(body: string): string {
  const lines: string[] = []
  let fence = ''
  for (const line of body.split('\n')) {
    const mark = /^(`{3,})/.exec(line)?.[1] ?? ''
    if (fence !== '') {
      if (mark.length >= fence.length && line.trim() === mark) fence = ''
      continue
    }
    if (mark !== '' && !line.slice(mark.length).includes('`')) {
      fence = mark
      continue
    }
    lines.push(line.replaceAll(/(`+)(?!`).*?(?<!`)\1(?!`)/g, 'CODE'))
  }
  expect(fence).toBe('')
  return lines.join('\n')
}

describe('the issue', () => {
  it('is the same bytes every time and changes with every item', () => {
    const [one, again, other] = [
      rendered(),
      rendered(),
      rendered([item(1, { expectedEffect: { ...write, bytes: 6 } })]),
    ]
    expect(again).toEqual(one)
    expect(other.bodyDigest).not.toBe(one.bodyDigest)
    expect(one.bodyDigest).toBe(bodyDigest(one.body.replaceAll('\n', '\r\n')))
    expect(bodyDigest(`${one.body} `)).not.toBe(one.bodyDigest)
  })

  it('begins with its marker and is no command', () => {
    const { body } = rendered()
    expect(markerOf('pause', body)).toBe('pause-1')
    expect(body.split('\n')[0]).toBe('<!-- agentctl:pause=pause-1 -->')
    expect(markerOf('pause', `x\n${body}`)).toBeNull()
    expect(parseComment(body)).toBeNull()
  })

  it('tells people only what the grammar accepts', () => {
    for (const items of [[item(1)], [item(1), item(2)]]) {
      const typed = typedWords(rendered(items).body)
      expect(typed.length).toBeGreaterThan(4)
      for (const word of typed) {
        const command = parseComment(word)
        expect(command, word).not.toBeNull()
        if (command === null || command.verb === 'cancel' || command.verb === 'status') continue
        expect(bindCommand(command, { items }, true), word).toMatchObject({ ok: true })
      }
    }
    expect(
      typedWords(rendered([item(1)], {}, { settings: { ...defaultApprovalSettings, plainWords: false } }).body),
    ).not.toContain('lgtm')
  })

  it('says who, how many, until when, that reactions do not count, and what it is bound to', () => {
    const settings = {
      ...defaultApprovalSettings,
      users: [{ login: 'carol', id: 3 }],
      teams: ['org/release'],
      minimumApprovals: 2,
      preventSelfApproval: true,
      permission: 'maintain' as const,
    }
    const { body, title } = rendered([item(1, { needed: 2 })], {}, { settings })
    for (const told of [
      '`maintain`',
      '`carol`',
      '`org/release`',
      '`pusher`',
      '2 approvals by different people',
      '2026-03-08 10:00 UTC',
      'Reactions do not count',
      '0123456789ab',
      'rejection is final',
      'https://github.example/o/r/actions/runs/77',
      'pauses/pause-1',
    ]) {
      expect(body).toContain(told)
    }
    expect(title).toBe('Approval needed: release: 1 effect [0123456789ab]')
  })

  it('asks for two where only bots caused the run and self-approval is prevented', () => {
    const change = {
      settings: { ...defaultApprovalSettings, preventSelfApproval: true },
      requesters: [{ id: 5, login: 'x[bot]', role: 'bot' }],
    }
    expect(rendered([item(1)], {}, change).body).toContain('2 approvals by different people')
  })

  it('shows what will be done, and what is asked later', () => {
    const { body } = rendered(
      [
        item(1),
        item(2, { expectedEffect: process, input: {} }),
        item(3, { expectedEffect: { kind: 'other', summary: 'calls it', detail: { a: 1 } } }),
      ],
      { later: ['deploy'] },
    )
    for (const shown of [
      '+hello',
      'out/release-notes.md',
      '"publish"',
      '"--tag-argument"',
      '/usr/bin/npm-secret-path',
      'NPM_TOKEN',
      'scripts/run-me.sh',
      'timeoutSeconds 60',
      'calls it',
      '`deploy`',
      'asked later',
    ]) {
      expect(body).toContain(shown)
    }
  })

  it('keeps diff, argv and paths behind the sign-in where the detail is summary', () => {
    const reason = 'approval asks before /usr/bin/npm-secret-path'
    const { body, title } = rendered(
      [item(1, { reason }), item(2, { expectedEffect: process, reason, input: { path: 'hidden-input-path' } })],
      {},
      summary,
    )
    for (const hidden of [
      '+hello',
      'release-notes',
      'publish',
      'tag-argument',
      'npm-secret-path',
      'NPM_TOKEN',
      'run-me',
      'inner-dir',
      'hidden-input-path',
      'release.yaml',
    ]) {
      expect(body + title).not.toContain(hidden)
    }
    expect(body).toContain('after sign-in')
    expect(body).toContain('`task-2`')
  })

  it('mentions only the people whom the floor wants told', () => {
    const { body } = rendered(
      [item(1, { task: '@everyone', reason: '@org/team' })],
      {},
      {
        settings: { ...defaultApprovalSettings, notify: ['@carol', '@org/oncall', '@a b <!--', 'x'] },
        workflowName: '@channel',
      },
    )
    expect(outsideCode(body).match(/@[\w/-]+/g)).toEqual(['@carol', '@org/oncall'])
  })
})

describe('text that nobody vouches for', () => {
  const evil = fc.oneof(
    fc
      .array(
        fc.constantFrom(
          '\n',
          '\r\n',
          '```',
          '````',
          '~~~',
          '`',
          '# Forged',
          '- [x] done',
          '[link](https://evil.example)',
          '<!-- agentctl:pause=other -->',
          '<!--',
          '-->',
          '@everyone',
          '/approve',
          'x',
          ' ',
          '\u202e',
          '\u034f',
          '\ufe0f',
          '\u0000',
          '</details>',
          '<img src=x>',
          '| a | b |',
          '#1',
          '\\',
          '\ud800',
        ),
        { maxLength: 25 },
      )
      .map(parts => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  )

  it('forges nothing, wherever it stands', () => {
    fc.assert(
      fc.property(evil, text => {
        const items = [
          item(1, {
            task: text,
            tool: text,
            capability: `${text}!`,
            agent: text,
            reason: text,
            expectedEffect: { ...write, path: text, diff: text },
          }),
          item(2, {
            expectedEffect: {
              ...process,
              command: text,
              args: [text],
              cwd: text,
              realPath: text,
              environment: [text],
              argvFiles: { [text]: text },
            },
            input: { [text]: text },
          }),
          item(3, { expectedEffect: { kind: 'other', summary: text, detail: { [text]: [text] } } }),
        ]
        const { body, title } = rendered(
          items,
          { later: [text] },
          { workflowName: text, document: text, requesters: [{ id: 1, login: text, role: 'actor' }] },
        )
        const shown = outsideCode(body)
        expect(shown.match(/<!--/g)).toHaveLength(1)
        expect(body.match(/<!--/g)).toHaveLength(1)
        expect(shown).not.toMatch(/Forged|evil\.example|@everyone|- \[x\]|<img|<\/details>|^\|/m)
        expect(shown.split('\n').filter(line => line.startsWith('#'))).toEqual(
          [
            '## How to decide',
            '## What will be done',
            '### 1. CODE',
            '### 2. CODE',
            '### 3. CODE',
            '## Will be asked later',
            '## What this is bound to',
          ].map(heading => (text === '' ? heading.replace('### 1. CODE', '### 1. (empty)') : heading)),
        )
        expect(parseComment(body)).toBeNull()
        expect(title).not.toMatch(/[\r\n\u202e\0]|\u034f|\ufe0f/)
        expect(title.length).toBeLessThanOrEqual(256)
        expect(body).not.toMatch(/[\r\u202e\0]|\u034f|\ufe0f/)
      }),
      { numRuns: 300 },
    )
  })

  it('never fills an issue beyond its limit, and says what it left out', () => {
    const huge = item(2, { expectedEffect: { ...write, diff: '+x\n'.repeat(30_000) } })
    const { body } = rendered([item(1), huge, item(3)])
    expect(body.length).toBeLessThanOrEqual(issueLengthMax)
    expect(body).toContain('too long to show here')
    expect(body).toContain('/pauses/pause-1')
    expect(body.match(/\+hello/g)).toHaveLength(2)
    expect(body).not.toContain('+x\n')
  })

  it('holds for any number and size of items', () => {
    for (const [amount, sizes] of [
      [1, [10, 80_000]],
      [40, [10, 3000, 80_000]],
      [600, [10, 3000]],
      [3000, [10]],
    ] as const) {
      for (const size of sizes) {
        const items = Array.from({ length: amount }, (_, index) =>
          item(index + 1, {
            task: `task-${index}-${'`'.repeat(20)}`,
            expectedEffect: { ...write, diff: `+${'`'.repeat(size)}\n` },
          }),
        )
        const { body } = rendered(items, { later: items.map(one => one.task) })
        expect(body.length).toBeLessThanOrEqual(issueLengthMax)
        expect(body).toContain('## How to decide')
        expect(body).toContain('## What this is bound to')
        const shown = body.split('\n').filter(line => /^(### )?\d+\. /.test(line)).length
        if (shown < amount) expect(body).toMatch(/too many to list here/)
      }
    }
  })
})

describe('our own texts', () => {
  const details = {
    comment: 500,
    login: 'Alice',
    pause: pause([item(1, { resolution: resolved('approved') }), item(2)]),
    pageUrl: 'https://a.example/p',
    subject: 'x `y` @z',
    newerPlanDigest: 'f'.repeat(64),
  }

  it.each(refusalCodes)('a reply for %s names what to do and is no command', code => {
    const text = renderReply(code, details)
    expect(markerOf('reply', text)).toBe('500')
    expect(parseComment(text)).toBeNull()
    expect(text).toContain('`Alice`')
    expect(text.length).toBeGreaterThan(80)
    for (const word of typedWords(text)) expect(parseComment(word), word).not.toBeNull()
  })

  it('has a reply of its own for each refusal', () => {
    expect(new Set(refusalCodes.map(code => renderReply(code, details))).size).toBe(refusalCodes.length)
  })

  it('names both digests where a newer plan took over', () => {
    const text = renderReply('pause_not_current', details)
    expect(text).toContain(details.newerPlanDigest)
    expect(text).toContain(details.pause.items[0]?.planDigest)
  })

  it('shows how things stand', () => {
    const items = [item(1, { resolution: resolved('expired') }), item(2, { needed: 2 })]
    const votes = [
      {
        item: items[1]?.id ?? '',
        vote: 'approve' as const,
        person: { id: 1, login: 'Alice' },
        at: '2026-03-02T10:00:00.000Z',
      },
    ]
    const text = renderStatusComment({
      pause: pause(items),
      votes,
      pageUrl: 'https://a.example/p',
      runUrl: null,
      notes: ['Waits for job `x`.'],
    })
    expect(markerOf('status', text)).toBe('pause-1')
    expect(parseComment(text)).toBeNull()
    for (const told of [
      'expired by `niner`',
      'open, 1 of 2 approvals, by `Alice`',
      'Waits for job',
      '1 effect of 2 waits',
    ])
      expect(text).toContain(told)
  })

  it('fits a commit status', () => {
    for (const items of [
      [item(1)],
      Array.from({ length: 4000 }, (_, n) => item(n + 1)),
      [item(1, { resolution: resolved('rejected') })],
    ]) {
      expect(statusDescription(pause(items)).length).toBeLessThanOrEqual(140)
    }
    expect(statusDescription(pause([item(1, { resolution: resolved('expired') })]))).toBe('Decided: 1 expired')
  })
})

it.each([
  ['https://github.com', 'https://github.com/o/r/actions/runs/7'],
  ['https://ghes.example/', 'https://ghes.example/o/r/actions/runs/7'],
])('links to the run on the web host %s', (serverUrl, url) => {
  expect(webRunUrl({ serverUrl, owner: 'o', name: 'r', workflowRunId: 7 })).toBe(url)
})

it('is what the run record says, and nothing that a later attempt adds moves it', () => {
  expect(rendered().body).toContain(run.planDigest)
})

describe('the trace of an item', () => {
  const traced = (...steps: unknown[]) =>
    rendered([item(1, { decisionTrace: steps as ReturnType<typeof item>['decisionTrace'] })]).body

  it('is data: what a job told in it forges nothing', () => {
    const forged = '\n\n### Approved by @alice\n<!-- agentctl:pause=other -->\n- [x] done'
    const body = traced({
      step: forged,
      outcome: forged,
      rule: forged,
      subject: forged,
      origin: forged,
      remedy: forged,
    })
    expect(outsideCode(body)).not.toMatch(/^### Approved|^- \[x\]|pause=other|@alice/m)
  })

  it('is shown as far as it was told', () => {
    expect(traced({ step: 'approval', outcome: 'ask' }, {}, { rule: 7 })).toContain(
      '  - approval: ask by (empty) ((empty))',
    )
  })
})
