/**
 * The work on one repository: what deliveries lead to, what resolutions lead to, and timers. Always in three steps: look
 * into the ledger, ask GitHub, apply to the ledger what still holds.
 */
export { markIdle } from './inbox/idle.ts'
export { verifyRegistration } from './registration.ts'
export { resolveRequest } from './resolve.ts'
export { work } from './work.ts'
