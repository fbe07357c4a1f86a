/**
 * What main leaves to the post step in the runner's state file. Children of the same user can read that file and write to
 * it: it never holds a token or a secret, and the post step trusts it with nothing but what to look at.
 */
export type StateName = 'document' | 'asker' | 'run' | 'concluded'

export interface LeftState {
  /** The document, relative to the checkout, once a run may have begun; null where main did not come that far. */
  document: string | null
  /** What main called itself when it attached, null without a control plane: the post step settles that one's run only. */
  asker: string | null
  /** The run, once main knew it. */
  run: string | null
  /** Everything that main came to is recorded and told. */
  concluded: boolean
}

/** Reads what main left. */
export function readState(environment: { readonly [name: string]: string | undefined }): LeftState {
  return {
    document: environment['STATE_document'] || null,
    asker: environment['STATE_asker'] || null,
    run: environment['STATE_run'] || null,
    concluded: environment['STATE_concluded'] === 'true',
  }
}

/** Keeps the state as main goes on. A state that cannot be written ends no run: the post step then knows less. */
export class StepState {
  readonly #save: (name: StateName, value: string) => void
  /** A run may have begun: the next lines may or may not have reached its ledger. */
  hasBegun = false
  run: string | null = null

  constructor(save: (name: StateName, value: string) => void) {
    this.#save = save
  }

  /** Before anything outside this process may come to know of a run. */
  begin(document: string, asker: string | null): void {
    this.hasBegun = true
    this.#keep('document', document)
    if (asker !== null) this.#keep('asker', asker)
  }

  hold(run: string): void {
    this.run = run
    this.#keep('run', run)
  }

  /** The last act of main. */
  conclude(): void {
    this.#keep('concluded', 'true')
  }

  #keep(name: StateName, value: string): void {
    try {
      this.#save(name, value)
    } catch {
      // As said above; what cannot be written here cannot be told here either.
    }
  }
}
