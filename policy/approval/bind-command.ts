import { type CommentCommand, itemNumber, reasonFrom } from './comment.ts'
import type { ApprovalRecord } from './record.ts'
import type { RefusalCode } from './verdict.ts'

export type DecidingCommand = Extract<CommentCommand, { verb: 'approve' | 'reject' }>

export type BoundCommand =
  | { ok: true; vote: 'approve' | 'reject' /** approval ids, all open */; items: string[]; reason: string }
  | { ok: false; code: RefusalCode /** what was named, for the reply */; subject: string }

/**
 * Which items of a pause a command is about. Items are named by `n`, `#n` or full task id; the first word that is none of
 * these begins the reason; a number without an item refuses the whole line.
 * @param plainWordsAllowed what the floor says about words such as `lgtm`.
 */
export function bindCommand(
  command: DecidingCommand,
  pause: { items: readonly ApprovalRecord[] },
  plainWordsAllowed: boolean,
): BoundCommand {
  const { items } = pause
  if (command.isPlain && !plainWordsAllowed) return refuse('plain_words_not_allowed', command.verb)
  if (command.isPlain && items.length !== 1) return refuse('plain_words_several_items', command.verb)
  const named = namedItems(command.tokens, items)
  if (!named.ok) return named
  const reason = reasonFrom(command.rest, named.taken)
  if (named.taken === 0 && command.verb === 'approve' && items.length > 1) return refuse('items_needed', '')
  const meant = named.taken === 0 || named.isAll ? items : named.items
  const open = meant.filter(item => item.resolution === null)
  if (open.length === 0) return refuse('item_decided', meant.map(item => `${item.number}`).join(', '))
  return { ok: true, vote: command.verb, items: [...new Set(open.map(item => item.id))], reason }
}

type Named =
  | { ok: true; items: ApprovalRecord[]; isAll: boolean /** words used up */; taken: number }
  | { ok: false; code: RefusalCode; subject: string }

function namedItems(tokens: readonly string[], items: readonly ApprovalRecord[]): Named {
  if (tokens[0]?.toLowerCase() === 'all') {
    const next = tokens[1]
    const isItem = next !== undefined && (itemNumber(next) !== null || items.some(item => item.task === next))
    return isItem ? refuse('all_with_items', next) : { ok: true, items: [], isAll: true, taken: 1 }
  }
  const named: ApprovalRecord[] = []
  let taken = 0
  for (const token of tokens) {
    const number = itemNumber(token)
    const found = items.filter(item => (number === null ? item.task === token : item.number === number))
    if (found.length === 0) {
      if (number !== null) return refuse('item_unknown', token)
      break
    }
    named.push(...found)
    taken++
  }
  return { ok: true, items: named, isAll: false, taken }
}

function refuse(code: RefusalCode, subject: string): { ok: false; code: RefusalCode; subject: string } {
  return { ok: false, code, subject }
}
