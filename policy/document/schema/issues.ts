import type { z } from 'zod'
import type { Json } from '../../json.ts'
import { documentLimits } from '../limits.ts'
import type { Finding, Reporter } from '../reporter.ts'
import { locate } from '../yaml/places.ts'
import { type Path, showPath, type YamlTree } from '../yaml/tree.ts'
import { notAnObject, secretReferenceRule } from './common.ts'
import { fieldsAt, nearest } from './fields.ts'

export type Issue = z.core.$ZodIssue

/** The path of an issue, in keys and indexes. */
export function pathOf(issue: Issue): (string | number)[] {
  return issue.path.filter(step => typeof step !== 'symbol')
}

/** The value at a path, undefined where there is none. */
export function valueAt(root: Json, path: Path): Json | undefined {
  let value: Json | undefined = root
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    if (Array.isArray(value)) value = typeof step === 'number' ? value[step] : undefined
    else value = Object.hasOwn(value, step) ? value[String(step)] : undefined
  }
  return value
}

/** Reports one fault of the schema, a document's unless said otherwise, in our words and with what to write instead. */
export function reportIssue(
  reporter: Reporter,
  tree: YamlTree,
  root: Json,
  issue: Issue,
  schema?: z.core.$ZodType,
): void {
  const path = pathOf(issue)
  if (issue.code === 'unrecognized_keys') reportUnknown(reporter, path, issue.keys, fieldsAt(path, schema))
  else if (issue.code === 'invalid_union') reportUnion(reporter, tree, root, path, issue)
  else {
    const code = isInSecretReference(path) ? 'invalid_secret_reference' : 'schema_violation'
    reporter.report(path, { code, ...describe(tree, valueAt(root, path), path, issue) })
  }
}

function reportUnknown(reporter: Reporter, path: Path, keys: readonly string[], known: readonly string[]): void {
  // The rest would not be reported anyway.
  for (const key of keys.slice(0, documentLimits.faults)) {
    const close = nearest(key, known)
    const help =
      close === null
        ? known.length > 0
          ? `known here: ${known.join(', ')}`
          : 'remove it'
        : `did you mean \`${close}\`?`
    reporter.report([...path, key], { code: 'schema_violation', message: `unknown field \`${key}\``, help, on: 'key' })
  }
}

/** Unions are secret references (three forms) and JSON Schemas (two). */
function reportUnion(
  reporter: Reporter,
  tree: YamlTree,
  root: Json,
  path: Path,
  issue: Extract<Issue, { code: 'invalid_union' }>,
): void {
  const value = valueAt(root, path)
  if (issue.errors.length !== 3) {
    reporter.report(path, {
      code: 'schema_violation',
      message: `${showPath(path)} must be a JSON Schema: an object, true or false`,
      help: 'write `true` where anything is right, or a schema like `{type: object}`',
    })
    return
  }
  const secretHelp = 'write {env: NAME} for a variable of the runner, and name it in policy.environmentAllowlist'
  const forms = ['env', 'file', 'process']
  const written = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  const form = written.length === 1 ? forms.indexOf(written[0] ?? '') : -1
  const inner = form < 0 ? [] : (issue.errors[form] ?? [])
  for (const fault of inner) {
    const at = [...path, ...pathOf(fault)]
    const { message, help } = describe(tree, valueAt(root, at), at, fault)
    reporter.report(at, { code: 'invalid_secret_reference', message, help })
  }
  if (inner.length === 0)
    reporter.report(path, { code: 'invalid_secret_reference', message: secretReferenceRule, help: secretHelp })
}

/** Whether a path leads into the helper process of a secret reference: `{process: ...}` stands in nothing else. */
function isInSecretReference(path: Path): boolean {
  return path.indexOf('process') >= 4 && !path.includes('tasks') && !path.includes('with')
}

type Description = Required<Pick<Finding, 'message' | 'help'>>

function describe(tree: YamlTree, value: Json | undefined, path: Path, issue: Issue): Description {
  const subject = showPath(path) || 'the document'
  if (value === undefined) return { message: `${subject} is missing`, help: `add \`${path.at(-1) ?? ''}\`` }
  switch (issue.code) {
    case 'invalid_type':
      return describeType(tree, value, path, issue.expected)
    case 'invalid_value': {
      const allowed = issue.values.map(String)
      const close = typeof value === 'string' ? nearest(value, allowed) : null
      const help = close === null ? `write ${oneOf(allowed)}` : `did you mean \`${close}\`?`
      return { message: `${subject} is \`${show(value)}\`; it must be ${oneOf(allowed)}`, help }
    }
    case 'too_small':
      if (isRange(issue)) return { message: `${subject} ${issue.message}, not ${show(value)}`, help: inRange }
      return {
        message: `${subject} ${bound(issue.origin, 'at least', issue.minimum, value)}`,
        help: fitting(issue.origin, 'more', issue.minimum),
      }
    case 'too_big':
      if (isRange(issue)) return { message: `${subject} ${issue.message}, not ${show(value)}`, help: inRange }
      return {
        message: `${subject} ${bound(issue.origin, 'at most', issue.maximum, value)}`,
        help: fitting(issue.origin, 'less', issue.maximum),
      }
    case 'custom':
      if (issue.message === notAnObject) return describeType(tree, value, path, 'record')
      return { message: `${subject} is \`${show(value)}\`: ${issue.message}`, help: asSaid }
    case 'invalid_key':
      return {
        message: `the name \`${path.at(-1) ?? ''}\` is not accepted: ${issue.issues[0]?.message ?? ''}`,
        help: 'give it another name',
      }
    default:
      return { message: `${subject} is \`${show(value)}\`: ${issue.message}`, help: asSaid }
  }
}

const inRange = 'write a number within these bounds'
const asSaid = 'change it to what the message asks for, or leave it out'

/** What to write where there is too little or too much. */
function fitting(origin: string, way: 'more' | 'less', limit: number | bigint): string {
  if (origin === 'array') return way === 'more' ? `write ${limit === 1 ? 'one' : `${limit}`} or more` : 'leave some out'
  if (origin === 'string') return way === 'more' ? 'write a text' : 'shorten it'
  return way === 'more' ? `write ${limit} or more` : `write ${limit} or less`
}

/** Whether the schema tells both ends in words of its own. */
function isRange({ message }: Issue): boolean {
  return message.startsWith('must be from ')
}

function describeType(tree: YamlTree, value: Json, path: Path, expected: string): Description {
  const subject = showPath(path) || 'the document'
  const names: { [type: string]: string } = {
    string: 'a text',
    number: 'a number',
    int: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    object: 'a map',
    record: 'a map',
  }
  const wanted = names[expected] ?? expected
  const message = `${subject} must be ${wanted}, not ${kindOf(value)}`
  const { source } = locate(tree, path)
  const quotable = expected === 'string' && source !== null && source !== ''
  if (quotable) return { message, help: `write "${source}"` }
  return { message, help: value === null ? `write ${wanted}, or leave it out` : `write ${wanted}` }
}

function bound(origin: string, side: string, limit: number | bigint, value: Json): string {
  if (origin === 'string')
    return limit === 1 && side === 'at least' ? 'must not be empty' : `must have ${side} ${limit} characters`
  if (origin === 'array') return `must have ${side} ${limit} ${limit === 1 ? 'entry' : 'entries'}`
  return `must be ${side} ${limit}, not ${show(value)}`
}

function oneOf(values: readonly string[]): string {
  return values.length === 1 ? `\`${values[0]}\`` : `one of ${values.map(value => `\`${value}\``).join(', ')}`
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object'
    ? 'a map'
    : `${typeof value === 'string' ? 'the text' : `the ${typeof value}`} ${show(value)}`
}

function show(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
