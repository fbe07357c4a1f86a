import { type LedgerStore, payloadOf } from '../../ledger/index.ts'
import { LedgerError, type PauseRecord, type RunRecord } from '../../ledger/port.ts'
import type { Json } from '../../policy/json.ts'
import type { LeaseClaims, PersonClaims } from '../auth/claims.ts'
import { leaseTokenRenewSeconds, signLease } from '../auth/lease-token.ts'
import { problem, unwrap } from '../problem.ts'
import { resolveRequest, verifyRegistration, work } from '../work/index.ts'
import { AccessMemory } from './access.ts'
import { attach, runToAttach } from './attach.ts'
import { attachAnswer } from './attach-answer.ts'
import type { RepositoryContext } from './context.ts'
import { exportStream } from './export.ts'
import { attachFacts, repositoryInfo } from './facts.ts'
import { allowsWorkflow, readFloor } from './floor.ts'
import type { CancelInput, Delivery, ReconcileInput, RepositoryHandle, ResolveInput, RunQuery } from './handle.ts'
import { signHead } from './head.ts'
import { pauseIssueOf, renderPause } from './issue.ts'
import { answerOf } from './refusals.ts'
import { attachRequesters, attachSettings } from './settings.ts'
import { RepositoryState, type RepositoryWorld } from './state.ts'

const sweepMs = 86_400_000
const retryAfterFaultMs = 30_000

type Input<Method extends keyof RepositoryHandle> = Parameters<RepositoryHandle[Method]>[0]
type Output<Method extends keyof RepositoryHandle> = ReturnType<RepositoryHandle[Method]>

/** One repository of the control plane over its ledger and its GitHub; the handle itself on Node, within its object on Workers. */
export class RepositoryService implements RepositoryHandle {
  readonly #world: RepositoryWorld
  readonly #state: RepositoryState
  readonly #access: AccessMemory
  #working: Promise<void> | null = null
  #workAgain = false
  #sweptAt = 0

  constructor(id: number, world: RepositoryWorld) {
    this.#world = world
    this.#state = new RepositoryState(id, world)
    this.#access = new AccessMemory(world.clock)
  }

  // --- the Action ---

  attach({ claims, request }: Input<'attach'>): Output<'attach'> {
    return answerOf(async () => {
      const { clock, config } = this.#world
      const name = { id: claims.repositoryId, owner: claims.owner, name: claims.repository }
      const github = this.#state.github(name)
      // GitHub first: a job of a repository without our App leaves no trace here.
      const info = await repositoryInfo(github, claims, clock.now())
      const store = this.#store
      const isFirstUse = store.useOnce(`oidc ${claims.jti}`, new Date((claims.expires + 60) * 1000).toISOString())
      if (!isFirstUse) throw problem(401, 'token_replayed', 'this OIDC token was used before: ask GitHub for a new one')
      const proved = { ...name, owner: info.owner, name: info.name }
      await this.#state.prove(proved)
      const facts = await attachFacts(github, info, claims, request, clock.now())
      if (!allowsWorkflow(facts.floor.floor, claims.workflowRef)) {
        const message = `the floor's allowedWorkflowRefs do not name ${claims.workflowRef}: run it from one that they name`
        throw problem(403, 'workflow_ref_not_allowed', message)
      }
      const settings = attachSettings(facts.floor.floor, request)
      const { instance } = facts
      const found = runToAttach(this.#state.opened, { claims, request, instance })
      const requesters = attachRequesters(facts.participants, found?.requesters ?? [])
      const attached = attach(this.#state.opened, { claims, request, instance, settings, requesters })
      await this.#changed()
      return attachAnswer({ config, claims, info, attached, floor: facts.floor, now: clock.now() })
    })
  }

  apply({ lease, batch }: Input<'apply'>): Output<'apply'> {
    return answerOf(async () => {
      if (batch.epoch !== lease.epoch) {
        throw new LedgerError('stale_epoch', `the lease token is of epoch ${lease.epoch}, the batch of ${batch.epoch}`)
      }
      const receipt = this.#store.apply(batch, lease.actor)
      if (batch.commands.some(({ type }) => type === 'run.pause' || type === 'run.finish')) await this.#changed()
      return { ...receipt, ...(await this.#renewed(lease)) }
    })
  }

  snapshot({ lease }: Input<'snapshot'>): Output<'snapshot'> {
    return answerOf(() => {
      this.#heldRecord(lease)
      return this.#store.snapshot(lease.run) ?? notFound('run')
    })
  }

  putBlobPart({ lease, sha256, part, totalBytes, bytes }: Input<'putBlobPart'>): Output<'putBlobPart'> {
    return answerOf(() => {
      if (this.#store.lease(lease.run)?.epoch !== lease.epoch) throw stale(lease)
      this.#store.putBlobPart(sha256, part, totalBytes, bytes, lease.run)
      return null
    })
  }

  getBlobPart(sha256: string, part: number): Output<'getBlobPart'> {
    return answerOf(() => this.#store.getBlobPart(sha256, part) ?? notFound('blob part'))
  }

  pauseIssue({ lease }: Input<'pauseIssue'>): Output<'pauseIssue'> {
    return answerOf(() => pauseIssueOf(this.#context(), this.#heldRecord(lease)))
  }

  register({ lease, pause, issue }: Input<'register'>): Output<'register'> {
    return answerOf(async () => {
      this.#heldRecord(lease)
      const registered = unwrap(await verifyRegistration(this.#context(), lease.run, pause, issue))
      await this.#changed()
      return registered
    })
  }

  // --- people ---

  resolve(input: ResolveInput): Output<'resolve'> {
    return answerOf(async () => {
      unwrap(await resolveRequest(this.#context(), input))
      await this.#changed()
      return this.#approval(input.approval)
    })
  }

  cancel({ run, reason, person, via }: CancelInput): Output<'cancel'> {
    return answerOf(async () => {
      unwrap(await this.access(person, 'write', true))
      const record = this.#record(run)
      if (record.endedAt !== null)
        throw new LedgerError('conflict', `run ${run} is ${record.state}: there is nothing to stop`)
      const command = { id: this.#world.ids.uuid(), type: 'run.cancel', person, reason, via } as const
      this.#store.control({ run, commands: [command] }, `github:${person.id}`)
      await this.#changed()
      return this.#record(run)
    })
  }

  reconcile({ effect, person, evidence, result, ...word }: ReconcileInput): Output<'reconcile'> {
    return answerOf(async () => {
      unwrap(await this.access(person, 'write', true))
      const store = this.#store
      const { run } = store.effect(effect) ?? notFound('effect')
      const keep = (bytes: Uint8Array) => store.putBlob(bytes)
      const command = {
        id: this.#world.ids.uuid(),
        type: 'effect.reconcile',
        effect,
        ...word,
        evidence: payloadOf(evidence, keep),
        result: result === null ? null : payloadOf(result, keep),
        person,
      } as const
      store.control({ run, commands: [command] }, `github:${person.id}`)
      await this.#changed()
      return store.effect(effect) ?? notFound('effect')
    })
  }

  access(person: PersonClaims, wanted: 'read' | 'write', fresh: boolean): Output<'access'> {
    return answerOf(() => this.#access.check(this.#context().github, person, wanted, fresh))
  }

  // --- reads ---

  async repository(): Output<'repository'> {
    return this.#state.names.current()
  }

  runs({ state, workflow, commit, actor, since, cursor, limit }: RunQuery): Output<'runs'> {
    const query = {
      limit,
      ...(state !== null && { state }),
      ...(workflow !== null && { workflow }),
      ...(commit !== null && { commit }),
      ...(actor !== null && { actor }),
      ...(since !== null && { since }),
      ...(cursor !== null && { cursor }),
    }
    return answerOf(() => this.#store.runs(query))
  }

  run(id: string): Output<'run'> {
    return answerOf(() => this.#record(id))
  }

  plan(run: string): Output<'plan'> {
    return answerOf(() => (this.#store.snapshot(run) ?? notFound('run')).plan)
  }

  effects(run: string): Output<'effects'> {
    return answerOf(() => {
      this.#record(run)
      return this.#store.effects(run)
    })
  }

  pauses(run: string): Output<'pauses'> {
    return answerOf(() => {
      this.#record(run)
      return this.#store.pauses(run)
    })
  }

  async openApprovals(): Output<'openApprovals'> {
    return this.#store.openPauses().flatMap(pause => {
      const bodyDigest = this.#bodyDigest(pause)
      return pause.items.filter(({ resolution }) => resolution === null).map(item => ({ ...item, bodyDigest }))
    })
  }

  approval(id: string): Output<'approval'> {
    return answerOf(() => this.#approval(id))
  }

  events({ run, after, limit }: Input<'events'>): Output<'events'> {
    return answerOf(() => {
      if (run !== null) this.#record(run)
      return this.#store.events({ chain: chainOf(run), after, limit })
    })
  }

  head(run: string | null): Output<'head'> {
    return answerOf(() => {
      if (run !== null) this.#record(run)
      const { seq, hash } = this.#store.tip(chainOf(run))
      return signHead(this.#world.config.auditKey, { ledger: this.#store.ledger, chain: chainOf(run), seq, head: hash })
    })
  }

  exportAudit(run: string | null): Output<'exportAudit'> {
    return answerOf(() => {
      if (run !== null) this.#record(run)
      return exportStream(this.#store.exportLines(run ?? undefined), this.#world.hold())
    })
  }

  floor(): Output<'floor'> {
    return answerOf(async () => {
      const { floor, digest, sources } = await readFloor(this.#context().github, this.#world.clock.now())
      return { floor: floor as Json, floorDigest: digest, sources }
    })
  }

  // --- work ---

  async deliver({ repository, ...delivery }: Delivery): Output<'deliver'> {
    await this.#state.prove(repository)
    const outcome = this.#store.addInbox(delivery)
    this.#world.schedule(this.#world.clock.now().toISOString())
    return outcome
  }

  tick(): Promise<void> {
    this.#workAgain = true
    // Begun a moment later, so that the loop cannot be over before it is known to run.
    this.#working ??= Promise.resolve().then(() => this.#workLoop())
    return this.#working
  }

  /** Works until nothing is due; what arrives meanwhile is worked on too. */
  async #workLoop(): Promise<void> {
    try {
      // Telling the directory takes time too: a call that comes meanwhile is seen by the next turn.
      while (this.#workAgain) {
        this.#workAgain = false
        if (this.#state.names.current() === null) return
        await this.#changed(await this.#workOnce())
      }
    } finally {
      // In the same tick as the last look at #workAgain, so that no call falls between.
      this.#working = null
    }
  }

  async #workOnce(): Promise<string | null> {
    const { clock, log } = this.#world
    try {
      this.#sweepDaily()
      return (await work(this.#context())).next
    } catch (error) {
      const message = error instanceof Error ? error.message : 'unknown'
      log.error('work.failed', { repository: this.#state.id, message })
      return new Date(clock.now().getTime() + retryAfterFaultMs).toISOString()
    }
  }

  #sweepDaily(): void {
    const now = this.#world.clock.now().getTime()
    if (now - this.#sweptAt < sweepMs) return
    this.#sweptAt = now
    this.#store.sweep()
  }

  /** Sets the timer to the least due time and tells the directory; after whatever may have changed either. */
  async #changed(next: string | null = null): Promise<void> {
    const due = [next, this.#store.nextDue()].filter(time => time !== null).sort()[0] ?? null
    this.#world.schedule(due)
    await this.#state.tellDirectory(due)
  }

  // --- parts ---

  get #store(): LedgerStore {
    return this.#state.store
  }

  #context(): RepositoryContext {
    const repository = this.#state.names.current() ?? notFound('repository')
    const { clock, config, ids, log } = this.#world
    return { store: this.#store, github: this.#state.github(repository), config, clock, ids, log, repository }
  }

  #record(run: string): RunRecord {
    return this.#store.record(run) ?? notFound('run')
  }

  /** The run that a lease token is bound to, as long as nobody has taken it over. */
  #heldRecord(lease: LeaseClaims): RunRecord {
    const record = this.#record(lease.run)
    if (record.epoch !== lease.epoch) throw stale(lease)
    return record
  }

  #approval(id: string) {
    const approval = this.#store.approval(id) ?? notFound('approval')
    const pause = this.#store.pause(approval.pause)
    return { ...approval, bodyDigest: pause === null ? null : this.#bodyDigest(pause) }
  }

  #bodyDigest(pause: PauseRecord): string | null {
    if (pause.issue !== null) return pause.issue.bodyDigest
    return pause.state === 'open' ? renderPause(this.#context(), this.#record(pause.run), pause).bodyDigest : null
  }

  async #renewed(lease: LeaseClaims): Promise<{ token?: string }> {
    const { clock, config } = this.#world
    const now = clock.now()
    if (now.getTime() / 1000 - lease.issuedAt < leaseTokenRenewSeconds) return {}
    const { issuedAt, ...bound } = lease
    return { token: (await signLease(config, bound, now)).token }
  }
}

const chainOf = (run: string | null): string => (run === null ? 'ledger' : `run/${run}`)

const stale = ({ run, epoch }: LeaseClaims): LedgerError =>
  new LedgerError('stale_epoch', `epoch ${epoch} of run ${run} is over: another attempt has taken it`)

function notFound(what: string): never {
  throw problem(404, 'not_found', `there is no such ${what} here`)
}
