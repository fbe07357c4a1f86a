import type { Json, JsonObject } from '../../json.ts'
import { loadJsonSchemas } from '../../json-schema/load.ts'
import type { JsonSchemas } from '../../json-schema/types.ts'
import type { WorkflowDocument } from '../document.ts'
import { holdsAnyTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import type { Work } from './work.ts'

/** What `compile` needs to check the schemas of the document and its packs, loaded only where there may be one; else null. */
export async function jsonSchemasFor(document: WorkflowDocument): Promise<JsonSchemas | null> {
  return hasSchemas(document) ? loadJsonSchemas() : null
}

function hasSchemas({ workflow }: WorkflowDocument): boolean {
  const { actions, subworkflows, tasks, packs } = workflow.spec
  return (
    packs.length > 0 ||
    Object.keys(subworkflows).length > 0 ||
    tasks.some(({ outputSchema }) => outputSchema !== undefined) ||
    Object.values(actions).some(action => action.inputSchema !== undefined || action.outputSchema !== undefined)
  )
}

/** Reports each fault of a schema that stands at `path`, at its own place. */
export function checkSchema(work: Work, path: Path, schema: Json): void {
  for (const { path: inner, message, help } of schemasOf(work).checkSchema(schema))
    work.reporter.report([...path, ...inner], { code: 'schema_violation', message, help })
}

/** Reports where an input that is known already, without templates, does not satisfy its schema; `at` names its owner. */
export function checkKnownInput(work: Work, at: { path: Path; what: string }, schema: Json, input: JsonObject): void {
  if (holdsAnyTemplate(input)) return
  const { checkSchema, validate } = schemasOf(work)
  // Of a faulty schema its own faults are told.
  if (checkSchema(schema).length > 0) return
  const checked = validate(schema, input)
  if (checked.ok) return
  for (const { path, message } of checked.errors) {
    const place = path === '' ? 'the input' : `\`${path}\` of the input`
    work.reporter.report(at.path, {
      code: 'schema_violation',
      message: `${place} of ${at.what} ${message}`,
      help: 'change `with` to what inputSchema asks for',
    })
  }
}

function schemasOf({ jsonSchemas }: Work): JsonSchemas {
  if (jsonSchemas !== null) return jsonSchemas
  throw new TypeError('the document has JSON Schemas: compile it with `jsonSchemas`, see jsonSchemasFor')
}
