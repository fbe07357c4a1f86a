import { z } from 'zod'
import type { AttachRequest } from '../ledger/wire.ts'
import { expiryMaxSeconds } from '../policy/approval/record.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import { isLoopback } from '../runner/network/own-origins.ts'
import { ActionError } from './failure.ts'

/** The inputs of action.yml under their exact names, read and checked. null = not given. */
export interface Inputs {
  workflow: string
  inputs: JsonObject
  'working-directory': string
  /** Origin, without a path. */
  'control-plane-url': string | null
  'github-token': string
  'agentctl-run': string | null
  'resume-with': 'rerun' | 'workflow_dispatch'
  approvers: { users: string[]; teams: string[] } | null
  'minimum-approvals': number | null
  'prevent-self-approval': boolean | null
  /** Seconds. */
  'approval-expires': number | null
  'approval-labels': string[] | null
  'on-pause': 'fail' | 'succeed'
  'issue-detail': 'full' | 'summary' | null
  floor: string | null
  summary: boolean
  'job-id': number | null
  matrix: Json
  /** Whether the job runs in a container. */
  container: boolean
}

const login = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})$/
const team = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,99})\/[A-Za-z0-9._-]{1,255}$/
const seconds: { readonly [unit: string]: number } = { m: 60, h: 3_600, d: 86_400 }

const given = <Value>(schema: z.ZodType<Value, string>) =>
  z.union([z.literal('').transform(() => null), z.string().pipe(schema)])

/** By commas or lines, an `@` before a name dropped, the same name in another case once. */
const list = z.string().transform(text => {
  const names = text.split(/[,\n]/).map(name => name.trim().replace(/^@/, ''))
  const seen = new Map(names.filter(name => name !== '').map(name => [name.toLowerCase(), name]))
  return [...seen.values()]
})

const parsed = (what: string) =>
  z.string().transform((text, context): Json => {
    try {
      return JSON.parse(text) as Json
    } catch {
      context.addIssue({ code: 'custom', message: `must be ${what}` })
      return z.NEVER
    }
  })

const boolean = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false'], 'must be true or false'))
  .transform(text => text === 'true')

const relativePath = z
  .string()
  .refine(path => !path.includes('\0'), 'must not hold a NUL byte')
  .refine(path => !path.split(/[/\\]/).includes('..'), 'must not hold `..`')

const origin = z.string().transform((text, context) => {
  const url = URL.parse(text)
  const complain = (message: string) => {
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }
  if (url === null) return complain('must be an address, https://HOST')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url)))
    return complain('must be https; http is allowed on loopback only')
  if (url.username !== '' || url.password !== '') return complain('must not hold credentials')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return complain('must be an origin without a path, https://HOST')
  return url.origin
})

const duration = z.string().transform((text, context) => {
  const [, amount = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const total = Number(amount) * (seconds[unit] ?? 0)
  if (total >= 60 && total <= expiryMaxSeconds) return total
  context.addIssue({
    code: 'custom',
    message: 'must be minutes, hours or days, 30m, 12h, 7d; at least 1m, at most 29d',
  })
  return z.NEVER
})

const approvers = list.transform((names, context) => {
  const wrong = names.filter(name => !login.test(name) && !team.test(name))
  if (wrong.length > 0)
    context.addIssue({ code: 'custom', message: `must be logins or org/team: ${wrong.join(', ')} is neither` })
  return { users: names.filter(name => !name.includes('/')), teams: names.filter(name => name.includes('/')) }
})

const schema = z.object({
  workflow: z.string().min(1, 'is required: the path of the document').pipe(relativePath),
  inputs: given(
    parsed('a JSON object').refine(
      value => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be a JSON object',
    ),
  ).transform(value => (value ?? {}) as JsonObject),
  'working-directory': relativePath.transform(path => path || '.'),
  'control-plane-url': given(origin),
  'github-token': z.string(),
  'agentctl-run': given(z.string().regex(/^[0-9a-f-]{36}$/i, 'must be a run id')),
  'resume-with': z
    .enum(['', 'auto', 'rerun', 'workflow_dispatch'], 'must be auto, rerun or workflow_dispatch')
    .transform(value => (value === 'workflow_dispatch' ? value : 'rerun')),
  approvers: given(approvers),
  'minimum-approvals': given(
    z
      .string()
      .regex(/^[1-9]\d{0,2}$/, 'must be a whole number from 1 to 999')
      .transform(Number),
  ),
  'prevent-self-approval': given(boolean),
  'approval-expires': given(duration),
  'approval-labels': given(
    list.refine(labels => labels.every(label => label.length <= 50), 'must be labels of at most 50 characters'),
  ),
  'on-pause': z.enum(['', 'fail', 'succeed'], 'must be fail or succeed').transform(value => value || 'fail'),
  'issue-detail': given(z.enum(['full', 'summary'], 'must be full or summary')),
  floor: given(relativePath),
  summary: given(boolean).transform(value => value ?? true),
  'job-id': given(
    z
      .string()
      .regex(/^\d{1,15}$/, 'is filled in by its default; leave it out')
      .transform(Number),
  ),
  matrix: given(parsed('JSON, as its default gives it; leave it out')),
  container: z.string().transform(value => value !== ''),
})

/**
 * Reads every input through `read` (`core.getInput`). Throws one ActionError (exit 2) that names each faulty input with
 * what it must be.
 */
export function readInputs(read: (name: string) => string): Inputs {
  const texts = Object.fromEntries(Object.keys(schema.shape).map(name => [name, read(name)]))
  // Code that zod would make of the schema pays only where it is used again.
  const result = schema.safeParse(texts, { jitless: true })
  if (!result.success) {
    const faults = result.error.issues.map(issue => `input ${issue.path.join('.')} ${messageOf(issue)}`)
    throw new ActionError('invalid_input', [...new Set(faults)].join('; '), { help: 'see action.yml for every input' })
  }
  const inputs = result.data
  if (inputs['on-pause'] === 'succeed' && inputs['resume-with'] === 'rerun')
    throw new ActionError('invalid_input', 'input on-pause succeed cannot be resumed by a re-run of the job', {
      help: 'set resume-with: workflow_dispatch, or on-pause: fail',
    })
  return inputs
}

/** The innermost word on a value: a union only says that no branch took it. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_union') return issue.message
  const inner = issue.errors.flat().find(candidate => candidate.code !== 'invalid_value' || candidate.values.length > 1)
  return inner === undefined ? issue.message : messageOf(inner)
}

/** What the step asks for about approvals, as the attach request carries it. */
export function requestedSettings(inputs: Inputs): AttachRequest['settings'] {
  const { approvers: who } = inputs
  return {
    ...(who !== null && { users: who.users, teams: who.teams }),
    ...(inputs['minimum-approvals'] !== null && { minimumApprovals: inputs['minimum-approvals'] }),
    ...(inputs['prevent-self-approval'] !== null && { preventSelfApproval: inputs['prevent-self-approval'] }),
    ...(inputs['approval-expires'] !== null && { expiresAfterSeconds: inputs['approval-expires'] }),
    ...(inputs['approval-labels'] !== null && { labels: inputs['approval-labels'] }),
    ...(inputs['issue-detail'] !== null && { issueDetail: inputs['issue-detail'] }),
  }
}
