/** What one try at a delivery came to: done, with a word for the record, or to be tried again. */
export type InboxOutcome =
  | { kind: 'done'; outcome: string }
  | { kind: 'again'; error: string; notBefore: string | null }

export const done = (outcome: string): InboxOutcome => ({ kind: 'done', outcome })
export const again = (error: string, notBefore: string | null = null): InboxOutcome => ({
  kind: 'again',
  error,
  notBefore,
})
