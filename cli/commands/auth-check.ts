import { effectivePolicy } from '../../policy/decision/index.ts'
import { type DocumentSecret, documentSecrets, versionsFor } from '../../policy/document/index.ts'
import { type Availability, secretAvailability } from '../../runner/index.ts'
import type { Finding, Handler } from '../command.ts'
import { loadDocument } from '../document.ts'
import { exits, FindingsError } from '../failure.ts'
import { readHostFloor } from '../host-floor.ts'
import type { Line, Style } from '../output/text.ts'
import { hostPorts } from '../ports.ts'

/**
 * `auth check FILE`: whether each secret of a document and of its packs could be had here, under the policy and the host's
 * floor. No value is read, no helper is run. 0 where all could, 3 where a rule refuses one, 4 where one is missing.
 */
export const authCheck: Handler = async (context, [file = '']) => {
  const { document, files, workspace, absolute, sources, warnings } = loadDocument(context, file)
  if (document.faulty) throw new FindingsError(document.errors)
  const floor = readHostFloor()
  const ports = hostPorts(context, { workspace, documents: [absolute, ...sources], floor })
  const { secrets, errors } = documentSecrets(document, files, await versionsFor(document))
  if (errors.length > 0) throw new FindingsError(errors)
  const { policy } = effectivePolicy(document.workflow.spec.policy, floor)
  const found = secretAvailability(ports, policy, secrets)
  const checked = secrets.flatMap((secret, index) => {
    const availability = found[index]
    return availability === undefined ? [] : [{ secret, availability }]
  })
  const refused = checked.some(({ availability }) => availability.status === 'refused')
  const missing = checked.some(({ availability }) => availability.status === 'missing')
  return {
    kind: 'AuthCheck',
    exitCode: refused ? exits.denied : missing ? exits.failed : exits.done,
    data: {
      file,
      available: !refused && !missing,
      secrets: checked.map(({ secret, availability }) => ({
        path: secret.path,
        use: secret.use,
        source: describe(secret),
        ...availability,
      })),
    },
    findings: [...warnings, ...checked.flatMap(({ secret, availability }) => findingOf(secret, availability))],
    lines:
      checked.length === 0
        ? [`${file} refers to no secret`]
        : checked.map(({ secret, availability }) => lineOf(secret, availability)),
  }
}

const styles: { [Status in Availability['status']]: Style } = { available: 'green', refused: 'red', missing: 'yellow' }

function lineOf(secret: DocumentSecret, { status }: Availability): Line {
  return [[styles[status], status.padEnd(9)], `  ${secret.path}  ${describe(secret)}`]
}

function findingOf(
  { file, line, column, path }: DocumentSecret,
  { status, rule, detail, remedy }: Availability,
): Finding[] {
  if (status === 'available') return []
  return [{ code: rule, severity: 'error', message: detail, help: remedy, file, line, column, path }]
}

/** The source as the document names it; arguments of a helper are left out. */
function describe({ reference }: DocumentSecret): string {
  if ('env' in reference) return `{env: ${reference.env}}`
  return 'file' in reference ? `{file: ${reference.file}}` : `{process: ${reference.process.command}}`
}
