/** What a verified GitHub OIDC token says of the job that carries it. Ids are numbers; nothing here came from the Action. */
export interface JobClaims {
  jti: string
  /** Whole seconds since the epoch after which the token is no good; a jti is remembered that long. */
  expires: number
  repositoryId: number
  owner: string
  repository: string
  isPublic: boolean
  workflowRunId: number
  attempt: number
  workflowRef: string
  ref: string
  sha: string
  event: string
  actorId: number
  actor: string
}

/** What a lease token is bound to. */
export interface LeaseClaims {
  repositoryId: number
  /** `owner/name` as the job knew it; paths under this token carry it. */
  repository: string
  run: string
  epoch: number
  /** Key of the instance that holds the lease. */
  instance: string
  /** `job:<run id>/<job attempt>`: the actor of what it writes. */
  actor: string
  /** Whole seconds since the epoch. */
  issuedAt: number
}

/** A signed-in GitHub account of type User. */
export interface PersonClaims {
  id: number
  login: string
}
