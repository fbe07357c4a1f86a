import type { AskedEffect } from './proposal.ts'

/** The rules that let an effect pass, for a person: the one about its resource, the one about approval. */
export function decidedBy({ decision }: Pick<AskedEffect, 'decision'>): string {
  const telling = decision.steps.filter(({ step }) => step === 'resource' || step === 'approval')
  const rules = telling.map(({ rule, subject, origin }) => `${rule} ${subject} (${origin})`)
  return `${rules.join('; ')}${decision.outcome === 'ask' ? ', approved by a person' : ''}`
}
