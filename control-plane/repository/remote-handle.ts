import type { RepositoryHandle } from './handle.ts'

export type HandleMethod = keyof RepositoryHandle

/** A call of one method; what it gives depends on the method. */
export type HandleCall = (method: HandleMethod, args: unknown[]) => Promise<unknown>

const methods: { readonly [Method in HandleMethod]: true } = {
  attach: true,
  apply: true,
  snapshot: true,
  longTerm: true,
  putBlobPart: true,
  getBlobPart: true,
  pauseIssue: true,
  register: true,
  resolve: true,
  cancel: true,
  reconcile: true,
  compensate: true,
  deliver: true,
  tick: true,
  access: true,
  repository: true,
  runs: true,
  run: true,
  plan: true,
  effects: true,
  approvals: true,
  openApprovals: true,
  approval: true,
  events: true,
  head: true,
  exportAudit: true,
  outbox: true,
  retryDeadLetter: true,
  floor: true,
}

/** A handle whose every method goes through `call`. */
export function handleOver(call: HandleCall): RepositoryHandle {
  const names = Object.keys(methods) as HandleMethod[]
  const entries = names.map(method => [method, (...args: unknown[]) => call(method, args)])
  return Object.fromEntries(entries) as RepositoryHandle
}

/** The other end: calls a method of a handle by its name. Throws TypeError for a name that is none. */
export function invoke(handle: RepositoryHandle, method: HandleMethod, args: unknown[]): Promise<unknown> {
  if (!Object.hasOwn(methods, method)) throw new TypeError(`${method} is not a method of a repository`)
  const called = handle[method] as (...args: unknown[]) => Promise<unknown>
  return called.apply(handle, args)
}
