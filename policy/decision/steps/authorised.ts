import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'

/**
 * Tool, capability and provider lists. A deny of the tool or of any capability wins. An allowlist must name the tool, or
 * every capability that it uses. Pure effects touch nothing, so only a deny can name them.
 */
export function authorised(question: Question): Answer {
  const { tool, capabilities, effectClass } = question.effect
  const denied = deniedName(question)
  if (denied !== null) {
    return deny(
      'authorised',
      'toolsDeny',
      tool,
      originOf(question, 'toolsDeny'),
      denied === tool ? 'the tool is on the deny list' : `its capability \`${denied}\` is on the deny list`,
      remedyFor(question, 'toolsDeny', `remove \`${denied}\``),
    )
  }
  if (effectClass === 'model') return authorisedProvider(question)
  const { toolsAllow } = question.compiled
  if (toolsAllow === 'any' || effectClass === 'pure' || toolsAllow.has(tool)) {
    return allow('authorised', 'toolsAllow', tool, originOf(question, 'toolsAllow'))
  }
  if (capabilities.length > 0 && capabilities.every(capability => toolsAllow.has(capability))) {
    return allow('authorised', 'toolsAllow', capabilities.join(' '), originOf(question, 'toolsAllow'))
  }
  return deny(
    'authorised',
    'toolsAllow',
    tool,
    originOf(question, 'toolsAllow'),
    'neither the tool nor all of its capabilities are on the allow list',
    remedyFor(question, 'toolsAllow', `add \`${tool}\``),
  )
}

function deniedName(question: Question): string | null {
  const { toolsDeny } = question.compiled
  if (toolsDeny.size === 0) return null
  if (toolsDeny.has(question.effect.tool)) return question.effect.tool
  return question.effect.capabilities.find(capability => toolsDeny.has(capability)) ?? null
}

function authorisedProvider(question: Question): Answer {
  const provider = question.effect.input['provider']
  const origin = originOf(question, 'providers')
  if (typeof provider !== 'string' || provider === '') {
    return deny(
      'authorised',
      'providers',
      'model',
      'runtime',
      'the provider is not known',
      'name the provider of the agent',
    )
  }
  const { providers } = question.compiled
  if (providers === 'any' || providers.has(provider)) return allow('authorised', 'providers', provider, origin)
  const remedy = remedyFor(question, 'providers', `add \`${provider}\``)
  return deny('authorised', 'providers', provider, origin, 'the provider is not on the list', remedy)
}
