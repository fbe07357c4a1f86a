import { z } from 'zod'
import { type Digest, digest } from '../canonical.ts'
import { isolations } from '../effect.ts'
import type { Json } from '../json.ts'
import { repositoryGlobFault } from './globs.ts'
import { limitNames } from './limit-names.ts'
import { approvalModes, nonInteractiveModes } from './policy.ts'
import { checked, networkSchema, policySchema, secretReferenceSchema } from './schema.ts'

/** GitHub's repository permissions, weakest first. */
export const permissions = ['read', 'triage', 'write', 'maintain', 'admin'] as const
export type Permission = (typeof permissions)[number]

/** A person on a list: a login, bound to its account where the id is known. */
const userSchema = z.strictObject({ login: z.string().min(1), id: z.int().min(1).nullable() })
const writtenUserSchema = z.lazy(() =>
  z.union([
    z
      .string()
      .min(1)
      .transform(login => ({ login, id: null })),
    z
      .strictObject({ login: z.string().min(1), id: z.int().min(1).optional() })
      .transform(user => ({ login: user.login, id: user.id ?? null })),
    userSchema,
  ]),
)
const teamSchema = z.string().check(context => {
  const parts = context.value.split('/')
  if (parts.length === 2 && parts.every(part => part !== '')) return
  context.issues.push({
    code: 'custom',
    message: `\`${context.value}\`: a team is written \`org/slug\``,
    input: context.value,
  })
})

/** `7d`, `12h`, `30m`, or whole seconds as a number, between a minute and 29 days. */
export const durationSchema = z.union([z.int(), z.string()]).transform((written, context) => {
  const seconds = typeof written === 'number' ? written : parseDuration(written)
  if (seconds !== null && seconds >= 60 && seconds <= 29 * 86_400) return seconds
  context.addIssue({
    code: 'custom',
    message: `\`${written}\`: write \`7d\`, \`12h\` or \`30m\`, at least a minute and at most 29 days`,
  })
  return z.NEVER
})

/** Whole seconds of `7d`, `12h`, `30m`; null for anything else. */
export function parseDuration(text: string): number | null {
  const unit = { d: 86_400, h: 3600, m: 60 }[text.slice(-1)]
  const digits = text.slice(0, -1)
  if (unit === undefined || digits === '' || digits.length > 9) return null
  return Array.from(digits).every(digit => digit >= '0' && digit <= '9') ? Number(digits) * unit : null
}

/** The policy fields as upper bounds; of `approval` what is required in any case. Absent = no bound, `[]` = nothing. */
export const policyBoundsSchema = z.lazy(() =>
  policySchema.extend({
    /** null = no directory at all: two floors that exclude each other. */
    workspaceRoot: policySchema.shape.workspaceRoot.nullable(),
    network: networkSchema.extend({ customCa: secretReferenceSchema.nullable().optional() }).optional(),
    approval: z.enum([...approvalModes, 'mutations_or_high_risk']).optional(),
    nonInteractive: z.enum(nonInteractiveModes).optional(),
  }),
)
export type PolicyBounds = z.infer<typeof policyBoundsSchema>

const limitsSchema = z.record(z.string(), z.number().min(0)).check(context => {
  for (const name of Object.keys(context.value))
    if (!limitNames.has(name))
      context.issues.push({
        code: 'custom',
        message: `\`${name}\` is no field that can be bounded by name; those of the policy are bounded under \`policy\``,
        path: [name],
        input: context.value,
      })
})

/**
 * `spec` of a SecurityFloor: a minimum that a document can only tighten (02, The floor). An absent field is no bound,
 * except those with a default, which a floor always states: `preventSelfApproval` and `approvers.permission`. Made when
 * the first floor is read, since most runs have none.
 */
export const floorSchema = z.lazy(() =>
  z.strictObject({
    minimumIsolation: z.enum(isolations).optional(),
    policy: policyBoundsSchema.optional(),
    /** Upper bounds by field name, `timeoutSeconds`, in the unit that the name says. */
    limits: limitsSchema.optional(),
    /** Container images that may run, as documents write them. */
    images: z.array(z.string().min(1)).optional(),
    /** Extra directories on which bare command names resolve. */
    searchPath: z.array(z.string().startsWith('/', 'a search directory is an absolute path')).optional(),
    /** Globs over `owner/name`; there only production cells run. */
    protectedRepositories: z.array(checked(repositoryGlobFault)).optional(),
    approvers: z
      .strictObject({
        users: z.array(writtenUserSchema).optional(),
        teams: z.array(teamSchema).optional(),
        permission: z.enum(permissions).default('write'),
      })
      .default({ permission: 'write' }),
    minimumApprovals: z.int().min(1).max(100).optional(),
    preventSelfApproval: z.boolean().default(true),
    /** Seconds, an upper bound. */
    expiresAfter: durationSchema.optional(),
    plainWords: z.boolean().optional(),
    notify: z.array(z.string().startsWith('@', 'written `@login` or `@org/team`')).optional(),
    onSuperseded: z.enum(['warn', 'refuse']).optional(),
    allowedWorkflowRefs: z.array(z.string().min(1)).optional(),
    workspaceNotCaptured: z.enum(['warn', 'error']).optional(),
    requireHostFloor: z.boolean().optional(),
    /** Which floors state a field, by its dotted name; kept through a meet so that a violation can name them. */
    setBy: z.record(z.string(), z.array(z.string())).optional(),
  }),
)
export type Floor = z.infer<typeof floorSchema>

/** Digest of what a floor demands; not of who set it. */
export function floorDigest(floor: Floor): Digest {
  const { setBy: _, ...demands } = floor
  return digest(floorValue(demands))
}

/** The floor as a JSON value, for the wire; `parseFloor` reads it back unchanged. */
export function floorValue(floor: Floor): Json {
  return JSON.parse(JSON.stringify(floor)) as Json
}
