import { type Answer, allow, deny, originOf, type Question, remedyFor } from '../question.ts'

/**
 * Tool, capability and provider lists. A deny of the tool, of its action's kind or of any capability wins: a deny list
 * that names a thing by its other name must not let it through. An allowlist must name the tool, or every capability that
 * it uses. Pure effects touch nothing, so only a deny can name them.
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
      reasonOf(denied, question),
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
  const { tool, operation, capabilities } = question.effect
  return [tool, operation, ...capabilities].find(name => toolsDeny.has(name)) ?? null
}

function reasonOf(denied: string, { effect }: Question): string {
  if (denied === effect.tool) return 'the tool is on the deny list'
  const what = denied === effect.operation ? 'kind' : 'capability'
  return `its ${what} \`${denied}\` is on the deny list`
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
