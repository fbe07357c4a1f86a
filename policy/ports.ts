/** Wall clock, handed in; the only clock that agentctl reads for what it records. */
export interface Clock {
  now(): Date
}

/** Source of fresh identifiers (UUIDv7) and of randomness, handed in so that tests can fix both. */
export interface Ids {
  uuid(): string
  bytes(length: number): Uint8Array
}
