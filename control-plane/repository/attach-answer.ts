import type { AttachAnswer } from '../../ledger/wire.ts'
import type { JobClaims } from '../auth/claims.ts'
import { signLease } from '../auth/lease-token.ts'
import type { Config } from '../config.ts'
import type { RepositoryInfo } from '../github/index.ts'
import { type Attached, actorOf } from './attach.ts'
import type { RepositoryFloor } from './floor.ts'

/** The answer to an attach, its lease token included. */
export async function attachAnswer(of: {
  config: Config
  claims: JobClaims
  info: RepositoryInfo
  attached: Attached
  floor: RepositoryFloor
  now: Date
}): Promise<AttachAnswer> {
  const { config, claims, info, floor, now } = of
  const { outcome, run, epoch, parent, recorded, instance, settings, token } = of.attached
  const bound = {
    repositoryId: info.id,
    repository: `${info.owner}/${info.name}`,
    run,
    epoch,
    instance,
    actor: actorOf(claims),
  }
  return {
    outcome,
    run,
    epoch,
    lease: token ? await signLease(config, bound, now) : null,
    repository: { id: info.id, owner: info.owner, name: info.name, isPublic: !info.isPrivate },
    floor: floor.floor,
    floorDigest: floor.digest,
    settings,
    parent,
    recorded,
    auditUrl: `${config.publicUrl}/v1/repos/${info.owner}/${info.name}/runs/${run}`,
  }
}
