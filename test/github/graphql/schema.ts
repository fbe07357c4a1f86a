import type { GraphQLSchema } from 'graphql'
import { buildSchema, type DefinitionNode, Kind, parse, print, type TypeNode } from 'graphql'
import { loadGraphqlSchema } from '../openapi/fetch.ts'

/** Types of GitHub's schema that the double answers for; of their fields those whose own types are here. */
const TYPES = [
  'Query',
  'Node',
  'Actor',
  'User',
  'Bot',
  'Organization',
  'Repository',
  'Issue',
  'IssueComment',
  'PullRequest',
  'IssueState',
  'PullRequestState',
  'IssueStateReason',
  'CommentAuthorAssociation',
  'IssueCommentConnection',
  'PageInfo',
  'UserContentEdit',
  'UserContentEditConnection',
  'RateLimit',
]
const SCALARS = ['ID', 'String', 'Int', 'Boolean', 'Float']

const named = (type: TypeNode): string => (type.kind === Kind.NAMED_TYPE ? type.name.value : named(type.type))

/** Keeps the types and, of their fields and arguments, those that speak of kept types only. */
function cut(sdl: string): string {
  const definitions = parse(sdl, { noLocation: true }).definitions
  const known = new Set([
    ...SCALARS,
    ...TYPES,
    ...definitions.flatMap(d => (d.kind === Kind.SCALAR_TYPE_DEFINITION ? [d.name.value] : [])),
  ])
  const kept = definitions.flatMap((definition): DefinitionNode[] => {
    if (definition.kind === Kind.SCALAR_TYPE_DEFINITION) return [definition]
    if (!('name' in definition) || !definition.name || !TYPES.includes(definition.name.value)) return []
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.INTERFACE_TYPE_DEFINITION)
      return [definition]
    const fields = (definition.fields ?? [])
      .filter(field => known.has(named(field.type)))
      .map(field => ({
        ...field,
        directives: [],
        arguments: field.arguments?.filter(argument => known.has(named(argument.type))) ?? [],
      }))
    const interfaces = definition.interfaces?.filter(one => TYPES.includes(one.name.value)) ?? []
    return [{ ...definition, fields, interfaces, directives: [] }]
  })
  return print({ kind: Kind.DOCUMENT, definitions: kept })
}

let shared: Promise<GraphQLSchema> | undefined

export const graphqlSchema = (): Promise<GraphQLSchema> => {
  shared ??= loadGraphqlSchema(JSON.stringify([TYPES, cut.toString()]), cut).then(sdl =>
    buildSchema(sdl, { assumeValidSDL: true }),
  )
  return shared
}
