import { longTermBounds } from '../../ledger/memory/bounds.ts'
import { canonical, digest } from '../../policy/canonical.ts'
import type { Json, JsonObject } from '../../policy/json.ts'
import { type EffectResult, type Executor, ExecutorError, type Prepared } from '../executor.ts'
import type { Host } from '../host.ts'
import type { LongTermStore } from './long-term-store.ts'
import { settled, succeeded, textOf } from './prepared.ts'

const kindOf = (name: string) => `builtin.long_term_memory.${name}`
const defaultItems = 10

/**
 * builtin.long_term_memory.*: values that outlive the run, in the ledger of the repository. A write is recorded with the
 * success of its effect in one transaction; a read is a recorded result like any other, so that a resumed run sees it
 * again.
 */
export function longTermExecutors(host: Host, store: LongTermStore): Executor[] {
  return [
    readExecutor(host, store),
    searchExecutor(host, store),
    writeExecutor(host, store),
    promoteExecutor(host, store),
  ]
}

function readExecutor(host: Host, store: LongTermStore): Executor {
  return {
    kinds: [kindOf('read')],
    async prepare({ input, task }) {
      const key = keyOf(host, input, kindOf('read'))
      const shape = { store, key, summary: `reads ${JSON.stringify(key)} of the long-term memory`, detail: { key } }
      if (store.values === null) return unread(shape)
      const item = await store.values.read(key)
      if (item === null)
        throw new ExecutorError(
          'missing_memory',
          `namespace ${store.namespace} of the long-term memory has no ${JSON.stringify(key)}, or its time is over; write it before task ${task.id}, or search for it`,
        )
      return prepared(shape, () => succeeded({ value: item.value }))
    },
  }
}

function searchExecutor(host: Host, store: LongTermStore): Executor {
  return {
    kinds: [kindOf('search')],
    async prepare({ input }) {
      const query = textOf(input, 'query', kindOf('search'))
      const limit = input['limit'] ?? defaultItems
      if (query.trim() === '' || query.length > longTermBounds.queryCharacters)
        throw invalid(`\`with.query\` must have 1 to ${longTermBounds.queryCharacters} characters, not blanks alone`)
      if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > longTermBounds.searchItems)
        throw invalid(`\`with.limit\` must be a whole number from 1 to ${longTermBounds.searchItems}`)
      refuseSecret(host, query, `\`with.query\` of ${kindOf('search')}`)
      const detail = { query, limit }
      const shape = { store, key: null, summary: `searches the long-term memory for ${JSON.stringify(query)}`, detail }
      if (store.values === null) return unread(shape)
      const items = await store.values.search(query, limit)
      return prepared(shape, () => succeeded({ items: items.map(({ key, value }) => ({ key, value })) }))
    },
  }
}

function writeExecutor(host: Host, store: LongTermStore): Executor {
  return {
    kinds: [kindOf('write')],
    async prepare({ input }) {
      const { value } = input
      if (value === undefined) throw invalid(`${kindOf('write')} needs \`with.value\`; null is a value too`)
      return preparedWrite(host, store, keyOf(host, input, kindOf('write')), value)
    },
  }
}

function promoteExecutor(host: Host, store: LongTermStore): Executor {
  return {
    kinds: [kindOf('promote')],
    async prepare({ input, memory }) {
      const key = keyOf(host, input, kindOf('promote'))
      const value = Object.hasOwn(memory, key) ? memory[key] : undefined
      if (value === undefined)
        throw new ExecutorError(
          'missing_memory',
          `working memory has no key ${JSON.stringify(key)} to promote; set it in spec.memory.working or write it first`,
        )
      return preparedWrite(host, store, key, value)
    },
  }
}

/** What is stored is what a reader of the record sees: redacted before it is bounded, compared and written. */
async function preparedWrite(host: Host, store: LongTermStore, key: string, given: Json): Promise<Prepared> {
  const value = host.secrets.redactor.json(given)
  const bytes = Buffer.byteLength(canonical(value))
  if (bytes > longTermBounds.valueBytes)
    throw invalid(
      `the value of ${JSON.stringify(key)} has ${bytes} bytes; a value of the long-term memory has at most ${longTermBounds.valueBytes}`,
    )
  const summary = `sets ${JSON.stringify(key)} of the long-term memory`
  const { namespace, retentionDays, values } = store
  if (values === null) return unread({ store, key, summary, detail: { key, value, retentionDays } })
  const item = await values.read(key)
  const before = item?.value ?? null
  const changed = item === null || digest(before) !== digest(value)
  const detail = { key, before, value, retentionDays }
  const result: EffectResult = {
    ...succeeded({ key, before, after: value, changed }),
    longTerm: { namespace, key, value, retentionDays },
  }
  const binding = { replaced_value: item === null ? null : digest(item.value) }
  return { ...prepared({ store, key, summary, detail }, () => result), binding }
}

interface Shape {
  store: LongTermStore
  /** null for a search. */
  key: string | null
  summary: string
  detail: JsonObject
}

function prepared({ store, key, summary, detail }: Shape, act: () => EffectResult): Prepared {
  const { namespace } = store
  return {
    facts: { kind: 'ledger', ledger: { namespace, key } },
    binding: {},
    expected: { kind: 'other', summary, detail: { namespace, ...detail } },
    predictability: 'partial',
    unchanged: null,
    start: () => settled(act()),
    close() {},
  }
}

/** In a prediction: what would be asked is known, what it would give is not. */
function unread(shape: Shape): Prepared {
  const message = 'the long-term memory is not read in a prediction'
  return prepared(shape, () => ({ kind: 'failed', code: 'not_read', message, output: null, retrySafe: false }))
}

/** Keys and queries stand in records and addresses as they are, so one that tells a secret is refused. */
function keyOf(host: Host, input: JsonObject, kind: string): string {
  const key = textOf(input, 'key', kind)
  if (key === '' || key.length > longTermBounds.keyCharacters || !key.isWellFormed())
    throw invalid(`\`with.key\` of ${kind} must be a text of 1 to ${longTermBounds.keyCharacters} characters`)
  refuseSecret(host, key, `\`with.key\` of ${kind}`)
  return key
}

function refuseSecret({ secrets }: Host, text: string, what: string): void {
  if (secrets.redactor.text(text) === text) return
  throw new ExecutorError(
    'secret_in_key',
    `${what} holds a known secret, and it is recorded as it is; name the value otherwise`,
  )
}

function invalid(message: string): ExecutorError {
  return new ExecutorError('invalid_input', message)
}
