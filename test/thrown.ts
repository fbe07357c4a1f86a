export function circular(): object {
  const value: { [key: string]: unknown } = { why: 'circular' }
  value['self'] = value
  return value
}
function circularCause(): Error {
  const error = new Error('circular cause')
  error.cause = error
  return error
}
function unreadable(): Error {
  const error = new Error('unreadable')
  Object.defineProperty(error, 'message', {
    get() {
      throw new Error('no message')
    },
  })
  return error
}
/** What code below may throw: each still ends in an end of its own, with a text, and nothing throws again (case 23). */
export const thrown: [name: string, value: unknown][] = [
  ['a circular object', circular()],
  ['an error that causes itself', circularCause()],
  ['an error whose message throws', unreadable()],
  ['an object without a prototype', Object.create(null)],
  ['a string', 'only text'],
  ['null', null],
  ['undefined', undefined],
  ['a symbol', Symbol('thrown')],
  ['a bigint', 10n],
  ['a function', () => 1],
]
