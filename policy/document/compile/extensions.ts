import type { PlanExtension } from '../plan.ts'
import { type Action, extensionProtocol } from '../schema/action.ts'
import type { Path } from '../yaml/tree.ts'
import type { Work } from './work.ts'

/** Arguments that agentctl adds itself: written by a document they would say what is not so. */
const addedArguments = ['--agentctl-handshake', '--agentctl-invoke']

/** What an extension must declare: its handshake is held against it before anything is invoked. */
export function checkExtension(work: Work, path: Path, name: string, action: Action, listsCapabilities: boolean): void {
  const report = (field: string | null, message: string, help: string) =>
    work.reporter.report(field === null ? path : [...path, field], { code: 'schema_violation', message, help })
  const { protocolVersion, args } = action
  if (protocolVersion === undefined)
    report(null, `extension \`${name}\` has no protocolVersion`, `write protocolVersion: ${extensionProtocol}`)
  else if (protocolVersion !== extensionProtocol)
    report('protocolVersion', `protocolVersion \`${protocolVersion}\` is not known`, `write ${extensionProtocol}`)
  for (const field of ['inputSchema', 'outputSchema'] as const) {
    const schema = action[field]
    if (schema === undefined)
      report(null, `extension \`${name}\` has no ${field}`, `declare ${field} as the extension's handshake prints it`)
    else if (typeof schema === 'boolean')
      report(field, `${field} of an extension must be a map`, 'write {} where anything is allowed')
  }
  if (!listsCapabilities)
    report(
      null,
      `extension \`${name}\` has no capabilities`,
      'list what its handshake prints, or write capabilities: []',
    )
  for (const [index, argument] of args.entries())
    if (addedArguments.includes(argument))
      work.reporter.report([...path, 'args', index], {
        code: 'schema_violation',
        message: `agentctl adds \`${argument}\` to the arguments of an extension itself`,
        help: 'leave it out',
      })
}

/** The declaration in the plan's form. */
export function extensionOf({ protocolVersion, inputSchema, outputSchema, capabilities }: Action): PlanExtension {
  // What is missing has been reported: the plan of a faulty document is never used.
  return {
    protocolVersion: protocolVersion ?? extensionProtocol,
    inputSchema: inputSchema ?? {},
    outputSchema: outputSchema ?? {},
    capabilities,
  }
}
