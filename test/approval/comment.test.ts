import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bindCommand, type CommentCommand, parseComment } from '../../policy/approval/index.ts'
import { item, resolved } from './pauses.ts'

const approve = (rest = ''): CommentCommand => ({
  verb: 'approve',
  isPlain: false,
  tokens: rest.split(' ').filter(Boolean),
  rest,
})
const reject = (rest = ''): CommentCommand => ({ ...approve(rest), verb: 'reject' }) as CommentCommand
const plain = (verb: 'approve' | 'reject'): CommentCommand => ({ verb, isPlain: true, tokens: [], rest: '' })

const accepted: [string, string, CommentCommand][] = [
  ['bare', '/approve', approve()],
  ['with items', '/approve 1 #2 build', approve('1 #2 build')],
  ['with all and a reason', '/approve all looks right', approve('all looks right')],
  ['a rejection with a reason', '/reject not today', reject('not today')],
  ['status', '/status', { verb: 'status' }],
  ['status with more words', '/status please', { verb: 'status' }],
  ['cancel with a reason', '/cancel wrong branch', { verb: 'cancel', reason: 'wrong branch' }],
  ['upper case, as phones write it', '/Approve', approve()],
  ['two trailing newlines', '/approve\n\n', approve()],
  ['CRLF', '\r\n/approve 1\r\nthanks\r\n', approve('1')],
  ['lone CR', '/approve\r/reject', approve()],
  ['backticks', '`/approve`', approve()],
  ['three backticks in one line', '```/approve```', approve()],
  ['backticks around the verb only', '`/approve` all', approve('all')],
  ['backticks around items', '/approve `1` `build`', { ...approve('1 build'), rest: '1` `build' } as CommentCommand],
  ['spaces and tabs', ' \t /approve \t 1 ', approve('1')],
  ['no-break and zero-width spaces', '\u00a0\u200b/approve\u00a01\ufeff', approve('1')],
  ['after a quote', '> /reject\n\n/approve', approve()],
  ['after a quote without space', '>/reject\n/approve', approve()],
  ['after a fence', '```\n/reject\n```\n/approve', approve()],
  ['after a longer fence', '````sh\n/reject\n```\n/reject\n````\n/approve', approve()],
  ['after a tilde fence', '~~~ `x`\n/reject\n~~~\n/approve', approve()],
  ['after an HTML comment', '<!-- /reject -->\n/approve', approve()],
  ['after a long HTML comment', '<!--\n/reject\n-->\n/approve', approve()],
  ['after an empty HTML comment', '<!-->\n/approve', approve()],
  ['indented', '      /approve', approve()],
  ['only its first line', '/approve\n/reject\n/cancel', approve()],
  ['lgtm', 'LGTM', plain('approve')],
  ['approved!', 'Approved!', plain('approve')],
  ['yes.', 'yes.', plain('approve')],
  ['approve', 'approve', plain('approve')],
  ['no', ' no ', plain('reject')],
  ['deny', 'deny', plain('reject')],
  ['denied.', 'DENIED.', plain('reject')],
  ['reject!', '`reject!`', plain('reject')],
  ['odd characters in the reason', '/approve 1 .* ( [ $(id) \\', approve('1 .* ( [ $(id) \\')],
]

const ignored: [string, string][] = [
  ['nothing', ''],
  ['blanks', ' \n\t\r\n '],
  ['talk', 'I would /approve this'],
  ['a later command', 'hello\n/approve'],
  ['a quoted command', '> /approve'],
  ['a fenced command', '```\n/approve\n```'],
  ['an unclosed fence', '```\n/approve'],
  ['a fence closed by the other mark', '```\n~~~\n/approve'],
  ['a fence closed too short', '````\n```\n/approve'],
  ['a commented command', '<!-- /approve -->'],
  ['an unclosed HTML comment', '<!--\n/approve'],
  ['text behind an HTML comment', '<!-- x --> /approve'],
  ['a lookalike', '/approved'],
  ['another', '/approve-all'],
  ['a path', '/approve/1'],
  ['a space after the slash', '/ approve'],
  ['a full-width slash', '／approve'],
  ['a plain word with more', 'yes please'],
  ['two marks', 'yes!!'],
  ['a plain word twice', 'yes yes'],
  ['a Cyrillic lookalike', '/аpprove'],
  ['a list item', '- /approve'],
  ['a heading', '# /approve'],
  ['bold', '**/approve**'],
  ['a mention first', '@agentctl /approve'],
  ['more than GitHub stores', `/approve ${'x'.repeat(70_001)}`],
]

describe('the grammar', () => {
  it.each(accepted)('accepts %s', (_, body, command) => {
    expect(parseComment(body)).toEqual(command)
  })
  it.each(ignored)('ignores %s', (_, body) => {
    expect(parseComment(body)).toBeNull()
  })

  it('never takes a later line for the command', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter(text => !/[\r\n]/.test(text)),
        text => {
          const alone = parseComment(text)
          if (
            alone === null &&
            text.trim() !== '' &&
            !/^[\s`]*(>|<!--|```|~~~)|^[\s`\u200b-\u200d\u2060]*$/.test(text)
          ) {
            expect(parseComment(`${text}\n/approve`)).toBeNull()
          }
          if (alone !== null) expect(parseComment(`${text}\n/reject`)).toEqual(alone)
        },
      ),
    )
  })
})

describe('fuzz', () => {
  const pieces = fc.constantFrom(
    '/approve',
    '/reject',
    'all',
    '#1',
    '99',
    '`',
    '```',
    '~~~',
    '> ',
    '<!--',
    '-->',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\t',
    'lgtm',
    '.',
    '.*',
    '(',
    '\u0000',
    '\ud800',
    '💥',
    '\u202e',
  )
  it('never throws and never runs away', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(pieces, { maxLength: 60 }).map(list => list.join('')),
          fc.string({ unit: 'binary', maxLength: 300 }),
        ),
        body => {
          const command = parseComment(body)
          if (command !== null && (command.verb === 'approve' || command.verb === 'reject')) {
            const bound = bindCommand(command, { items: [item(1), item(2)] }, true)
            if (bound.ok) expect(bound.items.length).toBeGreaterThan(0)
          }
        },
      ),
      { numRuns: 3000 },
    )
  })

  it.each(['`', ' ', '>', '<!--', '\n', '```\n', '#', '/approve ', '1 ', '\u200b', '~', '-->'])(
    'does not run away on repeated %j',
    piece => {
      const repeated = piece.repeat(60_000 / piece.length)
      const rounds = Array.from({ length: 7 }, () => {
        const start = performance.now()
        parseComment(`/approve ${repeated}`)
        parseComment(repeated)
        return performance.now() - start
      })
      // A few milliseconds on an idle machine; the square of 60,000 steps would take seconds.
      expect(Math.min(...rounds)).toBeLessThan(150)
    },
  )
})

describe('items', () => {
  const three = [item(1), item(2), item(3, { task: 'build' })]
  const bound = (body: string, items = three, plainAllowed = true) => {
    const command = parseComment(body)
    if (command === null || command.verb === 'status' || command.verb === 'cancel')
      throw new Error(`no decision: ${body}`)
    const result = bindCommand(command, { items }, plainAllowed)
    return result.ok
      ? { numbers: items.filter(one => result.items.includes(one.id)).map(one => one.number), reason: result.reason }
      : result.code
  }

  it.each([
    ['/approve all', [1, 2, 3], ''],
    ['/approve ALL good', [1, 2, 3], 'good'],
    ['/approve 2', [2], ''],
    ['/approve #2', [2], ''],
    ['/approve 3 1 1 #3', [1, 3], ''],
    ['/approve build', [3], ''],
    ['/approve task-1 build because I say so', [1, 3], 'because I say so'],
    ['/approve 1 `build` fine', [1, 3], 'fine'],
    ['/reject', [1, 2, 3], ''],
    ['/reject not now', [1, 2, 3], 'not now'],
    ['/reject 2 not now', [2], 'not now'],
    ['/reject all 2nd thoughts', [1, 2, 3], '2nd thoughts'],
    ['/approve 02', [2], ''],
  ])('%s', (body, numbers, reason) => {
    expect(bound(body)).toEqual({ numbers, reason })
  })

  it.each([
    ['/approve', 'items_needed'],
    ['/approve looks good', 'items_needed'],
    ['/approve 99', 'item_unknown'],
    ['/approve #99', 'item_unknown'],
    ['/approve 1 99', 'item_unknown'],
    ['/approve 1 99 problems', 'item_unknown'],
    ['/approve 0', 'item_unknown'],
    ['/approve 99999999999999999999999', 'item_unknown'],
    ['/reject 99', 'item_unknown'],
    ['/approve all 2', 'all_with_items'],
    ['/approve all build', 'all_with_items'],
    ['/approve .*', 'items_needed'],
    ['/approve (', 'items_needed'],
    ['lgtm', 'plain_words_several_items'],
    ['no', 'plain_words_several_items'],
  ])('%s is refused: %s', (body, code) => {
    expect(bound(body)).toBe(code)
  })

  it('counts a plain word on a single item, where the floor allows it', () => {
    expect(bound('lgtm', [item(1)])).toEqual({ numbers: [1], reason: '' })
    expect(bound('/approve looks good', [item(1)])).toEqual({ numbers: [1], reason: 'looks good' })
    expect(bound('lgtm', [item(1)], false)).toBe('plain_words_not_allowed')
  })

  it('leaves decided items alone', () => {
    const decided = [item(1, { resolution: resolved('approved') }), item(2)]
    expect(bound('/approve all', decided)).toEqual({ numbers: [2], reason: '' })
    expect(bound('/reject 1', decided)).toBe('item_decided')
    expect(bound('lgtm', decided)).toBe('plain_words_several_items')
  })

  it('means every effect of a task by its id', () => {
    expect(bound('/approve t', [item(1, { task: 't' }), item(2, { task: 't' }), item(3)])).toEqual({
      numbers: [1, 2],
      reason: '',
    })
  })

  it('takes an id that is a regular expression for an id', () => {
    expect(bound('/approve .*', [item(1, { task: '.*' }), item(2)])).toEqual({ numbers: [1], reason: '' })
  })
})
