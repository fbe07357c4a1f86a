import { sha256 } from '../../policy/canonical.ts'
import type { WriteFact } from '../../policy/decision/facts.ts'
import { type EffectResult, type Executor, ExecutorError, type Prepared } from '../executor.ts'
import { readAll } from '../facts/read-fact.ts'
import { replaceFile } from '../facts/replace-file.ts'
import { closeWritePlace, type WritePlace, writeFact } from '../facts/write-fact.ts'
import type { Host } from '../host.ts'
import { settled, textOf } from './prepared.ts'
import { unifiedDiff } from './unified-diff.ts'

/** Old text larger than this is told by digest, not shown. */
const shownLimitBytes = 1_048_576
/** New files are readable by all, as a checkout's are. */
const freshMode = 0o644

/** builtin.write: one text file, replaced whole. Nothing is requested where it holds these bytes already. */
export function writeExecutor(host: Host): Executor {
  return {
    kinds: ['builtin.write'],
    async prepare({ input }) {
      const requested = textOf(input, 'path', 'builtin.write')
      const content = textOf(input, 'content', 'builtin.write')
      if (!content.isWellFormed())
        throw new ExecutorError(
          'invalid_input',
          'builtin.write: `with.content` holds half a surrogate pair, which UTF-8 cannot carry',
        )
      const { fact, place } = writeFact(host.workspace, requested)
      if (place !== null && holdsSecret(host, [place.fact.path, content])) {
        closeWritePlace(place)
        throw new ExecutorError(
          'secret_in_artifact',
          `${requested} or its content holds a known secret and would be kept in the ledger; have a process write it from its environment`,
        )
      }
      return place === null ? refusedWrite(requested, content, fact) : preparedWrite(place, content)
    },
  }
}

function holdsSecret({ secrets }: Host, texts: readonly string[]): boolean {
  return texts.some(text => secrets.redactor.text(text) !== text)
}

function refusedWrite(requested: string, content: string, fact: WriteFact): Prepared {
  return {
    facts: { kind: 'write', path: fact },
    binding: {},
    expected: {
      kind: 'write',
      path: requested,
      diff: '',
      beforeSha256: null,
      afterSha256: sha256(content),
      bytes: Buffer.byteLength(content),
    },
    predictability: 'none',
    unchanged: null,
    start: () =>
      settled({
        kind: 'failed',
        code: 'unknown_path',
        message: `${requested} is not known`,
        output: null,
        retrySafe: false,
      }),
    close() {},
  }
}

function preparedWrite(place: WritePlace, content: string): Prepared {
  const { fact } = place
  const bytes = Buffer.from(content)
  const afterSha256 = sha256(bytes)
  const before = shownText(place)
  const diff = fact.before !== null && before === null ? binaryDiff(fact.path) : unifiedDiff(fact.path, before, content)
  const same = fact.before?.sha256 === afterSha256
  const output = (status: 'changed' | 'unchanged') => ({
    status,
    changed: status === 'changed',
    before,
    after: content,
    diff,
    path: fact.path,
    predictability: 'full',
  })
  let open = true
  return {
    facts: { kind: 'write', path: fact },
    binding: { replaced_file: { path: fact.path, before: fact.before } },
    expected: {
      kind: 'write',
      path: fact.path,
      diff,
      beforeSha256: fact.before?.sha256 ?? null,
      afterSha256,
      bytes: bytes.length,
    },
    predictability: 'full',
    unchanged: same ? output('unchanged') : null,
    start() {
      const mode = fact.before?.mode ?? freshMode
      const replacement = replaceFile(place, bytes, mode)
      if (replacement.kind === 'failed') return settled({ ...replacement, output: null, retrySafe: true })
      if (replacement.kind === 'uncertain') return settled({ ...replacement, code: 'path_changed', output: null })
      const result: EffectResult = {
        kind: 'succeeded',
        output: output('changed'),
        artifacts: [{ path: fact.path, mode, before: fact.before?.sha256 ?? null, bytes }],
      }
      return settled(result)
    },
    close() {
      if (open) closeWritePlace(place)
      open = false
    },
  }
}

/** Text of the file to be replaced; null where there is none, or where it is no text of a size to show. */
function shownText(place: WritePlace): string | null {
  if (place.replaced === null) return null
  const bytes = readAll(place.replaced.fd, shownLimitBytes)
  if (bytes === null || bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

function binaryDiff(path: string): string {
  return `Binary or large file a/${path} is replaced; the digests before and after are in the record\n`
}
