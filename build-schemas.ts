import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { floorJsonSchema, packJsonSchema, workflowJsonSchema } from './policy/document/index.ts'

/** The published JSON Schemas, made from the schemas that check documents, packs and floors. */
const schemas = {
  'workflow.schema.json': workflowJsonSchema,
  'pack.schema.json': packJsonSchema,
  'security-floor.schema.json': floorJsonSchema,
}

function texts(): [name: string, text: string][] {
  return Object.entries(schemas).map(([name, make]) => [name, `${JSON.stringify(make(), null, 2)}\n`])
}

/** Writes all of them into a directory. */
export async function writeSchemas(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  for (const [name, text] of texts()) await writeFile(join(directory, name), text)
}

/** Names of those that are missing, left over or different in a directory. */
export async function staleSchemas(directory: string): Promise<string[]> {
  const there = new Set(await readdir(directory))
  const stale: string[] = []
  for (const [name, text] of texts()) {
    const isThere = there.delete(name)
    if (!isThere || (await readFile(join(directory, name), 'utf8')) !== text) stale.push(name)
  }
  return [...stale, ...there].sort()
}
