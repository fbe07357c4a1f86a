import { canonical, sha256 } from '../policy/canonical.ts'
import { compiledPolicy, refusedSecret, type VariableFact } from '../policy/decision/index.ts'
import type { Plan, SecretReference } from '../policy/document/plan.ts'
import type { Json } from '../policy/json.ts'
import { learningRedactor, type Redactor, secretRefusal } from '../policy/redact.ts'
import { helperBinding } from './facts/process-binding.ts'
import { closeProcessPlace } from './facts/process-fact.ts'
import { type Environment, secretValues } from './secrets/environment.ts'
import { readSecretFile } from './secrets/file.ts'
import { findHelper, type Helper, type HelperAnswer, type HelperSurroundings, runHelper } from './secrets/helper.ts'
import { referencesOf } from './secrets/references.ts'
import { SecretRefused } from './secrets/refused.ts'

/** The secret values that a run can come to know, and the one redactor that keeps them out of everything public. */
export interface Secrets {
  /** Learns each value that is read later, before anybody can print it. */
  redactor: Redactor
  /** What a reference is on this host now, nothing run. The caller closes it. */
  find(reference: SecretReference): FoundSecret
  /**
   * The value that a reference comes to now, by running its helper where it has one: for references of the policy itself,
   * once an effect that needs them may run. Undefined where a variable has none to give. Throws SecretRefused, where the
   * policy's lists do not allow the file or the helper, or it gives no value.
   */
  read(reference: SecretReference, signal?: AbortSignal): Promise<{ value: string | undefined }>
}

/** A reference as it was found. */
export interface FoundSecret {
  fact: VariableFact
  /** Null where there is none to give (the fact says why), or where a helper gives it. */
  value: string | null
  /**
   * Runs the helper, where the reference names one that can be run: only once the decision allows it, and a person did
   * where one had to. Run once for a run and reference: the value that the same program gave before is given again.
   */
  ask: ((signal: AbortSignal, effect: string) => Promise<HelperAnswer>) | null
  close(): void
}

/** Where a run's secrets come from. */
export interface SecretSources extends HelperSurroundings {
  environment: Environment
  /** Told each value as soon as it is known, before the redactor's own use of it; absent = nobody. */
  learnSecrets?: ((values: readonly string[]) => void) | undefined
}

/** Collects every secret that can be read before anything runs: of variables and of files. */
export function collectSecrets(plan: Plan, sources: SecretSources): Secrets {
  const redactor = learningRedactor([])
  const learn = (values: readonly string[]) => {
    sources.learnSecrets?.(values)
    redactor.learn(values)
  }
  const answers = new Answers(learn)
  const find = (reference: SecretReference): FoundSecret => {
    if ('env' in reference) return findVariable(reference.env, sources.environment)
    if ('process' in reference) return findProcess(reference.process, sources, answers)
    const { fact, value } = readSecretFile(sources.workspace, reference.file)
    if (value !== null) learn([value])
    return { fact, value, ask: null, close() {} }
  }
  learn(secretValues(plan, sources.environment))
  for (const reference of referencesOf(plan)) if ('file' in reference) find(reference).close()
  return { redactor, find, read: (reference, signal) => readReference(find(reference), sources, signal) }
}

/** Names of the plan's inputs that hold a secret's value: the plan is recorded as it is, and they would be with it. */
export function inputsWithSecrets({ inputs }: Plan, { redactor }: Secrets): string[] {
  return Object.entries(inputs).flatMap(([name, value]) =>
    canonical(redactor.record([name, value])) === canonical([name, value]) ? [] : [name],
  )
}

function findVariable(source: string, environment: Environment): FoundSecret {
  const value = environment[source]
  const plain = { ask: null, close() {} }
  if (value === undefined) return { fact: { source, sha256: null }, value: null, ...plain }
  if (secretRefusal(value) === null) return { fact: { source, sha256: sha256(value) }, value, ...plain }
  return { fact: { source, sha256: null, fault: value === '' ? 'empty' : 'short' }, value: null, ...plain }
}

function findProcess(helper: Helper, sources: SecretSources, answers: Answers): FoundSecret {
  const { fact, place } = findHelper(sources, helper)
  if (place === null) return { fact, value: null, ask: null, close() {} }
  const key = canonical([helper as unknown as Json, helperBinding(fact)])
  return {
    fact,
    value: null,
    ask: (signal, effect) => answers.of(key, () => runHelper(place, helper, signal, effect)),
    close: () => closeProcessPlace(place),
  }
}

/** What helpers have answered in this run. A failure is not kept: whoever asks again has it run again. */
class Answers {
  readonly #learn: (values: readonly string[]) => void
  readonly #known = new Map<string, Promise<HelperAnswer>>()

  constructor(learn: (values: readonly string[]) => void) {
    this.#learn = learn
  }

  async of(key: string, run: () => Promise<HelperAnswer>): Promise<HelperAnswer> {
    const known = this.#known.get(key)
    if (known !== undefined) return { ...(await known), containment: null }
    const asked = this.#ask(key, run)
    this.#known.set(key, asked)
    return asked
  }

  async #ask(key: string, run: () => Promise<HelperAnswer>): Promise<HelperAnswer> {
    let isKept = false
    try {
      const answer = await run()
      if (answer.ok) this.#learn([answer.value])
      isKept = answer.ok
      return answer
    } finally {
      if (!isKept) this.#known.delete(key)
    }
  }
}

async function readReference(
  found: FoundSecret,
  { workspace }: SecretSources,
  signal = new AbortController().signal,
): Promise<{ value: string | undefined }> {
  try {
    const { fact, value, ask } = found
    if ('source' in fact) return { value: value ?? undefined }
    const refusal = refusedSecret(compiledPolicy(workspace.policy), fact)
    if (refusal !== null) throw new SecretRefused(refusal)
    if (ask === null) return { value: value ?? undefined }
    const answer = await ask(signal, '')
    if (answer.ok) return { value: answer.value }
    throw new SecretRefused({ rule: answer.code, field: null, detail: answer.message, change: 'correct the helper' })
  } finally {
    found.close()
  }
}
