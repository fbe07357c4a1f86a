import type { Notes } from './apply.ts'
import { boundNotes } from './policy.ts'
import { titled } from './workflow.ts'

/** A SecurityFloor. */
export const floorNotes: Notes = {
  '': 'a minimum that documents can only tighten, installed on a runner host or on a default branch',
  apiVersion: 'version of the document language',
  kind: 'what the file is',
  metadata: {
    '': 'about the floor',
    name: 'name of the floor',
    description: 'for people',
    labels: 'texts by name, for people and records',
  },
  spec: {
    '': 'what it demands; a field that is left out demands nothing, unless it has a default',
    minimumIsolation: 'weakest isolation in which processes may run',
    policy: titled('the fields of `spec.policy` as upper bounds', boundNotes),
    limits: 'upper bounds by name of a field of documents, in the unit that the name says: `timeoutSeconds: 600`',
    images: 'container images that may run, as documents write them',
    searchPath: 'further directories in which bare names of programs are looked for; absolute',
    protectedRepositories: 'globs over `owner/name`; only production cells run there',
    approvers: {
      '': 'who may decide',
      users: {
        '': 'logins, or logins bound to their account',
        '*': { login: 'login', id: 'number of the account, which outlives a renaming' },
      },
      teams: 'teams as `org/slug`',
      permission: 'least permission that who decides has on the repository',
    },
    minimumApprovals: 'number of people who must approve',
    preventSelfApproval: 'whether who asked is kept from deciding',
    expiresAfter: 'how long a decision may take: `7d`, `12h`, `30m`, or whole seconds; at most 29 days',
    plainWords: 'whether `approve` and `reject` count without a slash',
    notify: 'people and teams that an approval issue mentions, `@login` or `@org/team`',
    onSuperseded: 'what happens to an approval whose commit is no longer the newest',
    allowedWorkflowRefs: 'globs over `owner/name/path@ref` of workflows that may run agentctl',
    workspaceNotCaptured: 'whether files that a pause would lose are warned of or refused',
    requireHostFloor: 'whether a runner without a readable host floor is refused',
  },
}
