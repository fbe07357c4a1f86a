import type { Person } from './record.ts'
import type { EarlierVote } from './view.ts'

/** How one item stands: the last word of each person, until one rejection or enough approvals make it final. */
export interface Standing {
  approvals: Person[]
  rejectedBy: Person | null
}

/** Counts votes in their order. One account is one person, whatever it is called and however often it speaks. */
export function tally(votes: readonly EarlierVote[], item: string): Standing {
  const words = new Map<string, EarlierVote>()
  for (const vote of votes) {
    if (vote.item !== item) continue
    if (vote.vote === 'reject') return { approvals: [], rejectedBy: vote.person }
    words.set(vote.person.id === null ? `local ${vote.person.login}` : `${vote.person.id}`, vote)
  }
  return { approvals: [...words.values()].map(vote => vote.person), rejectedBy: null }
}
