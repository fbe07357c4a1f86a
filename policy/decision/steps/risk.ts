import { effectClasses, isolations, risks } from '../../effect.ts'
import { type Answer, allow, deny, type Question } from '../question.ts'

const known: ReadonlySet<string> = new Set([...effectClasses, ...risks, ...isolations])

/** Effect class and risk must be values that this version knows; what they lead to is the approval's matter. */
export function risk(question: Question): Answer {
  const { effectClass, risk: level, isolation, operation } = question.effect
  for (const value of [effectClass, level, isolation]) {
    if (known.has(value)) continue
    const detail = `\`${value}\` is no effect class, risk or isolation that this version knows`
    return deny('risk', 'unknown_risk', operation, 'runtime', detail, 'use a version of agentctl that knows it')
  }
  return allow('risk', effectClass, level, 'runtime')
}
