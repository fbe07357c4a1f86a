/** Largest bodies in bytes (05): commands 256 KiB, blob parts 512 KiB, everything else small. */
export const commandsLimitBytes = 262_144
export const smallBodyLimitBytes = 65_536

/** Requests a minute and caller. A job may be quick: one request per effect boundary, many effects at once. */
export const requestsPerMinute = { anonymous: 600, job: 6000, person: 600 } as const

/** A live event stream is closed after five minutes; the client resumes it by Last-Event-ID. */
export const eventStreamMs = 300_000
export const eventPollMs = 1000
