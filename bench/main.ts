import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BenchRow, machine } from './bench.ts'

/** `npm run bench [-- NAME]`: runs each bench of this folder, prints the table and keeps it in bench/results/. */
const here = import.meta.dirname
const only = process.argv[2]
const names = readdirSync(here)
  .filter(file => file.endsWith('.ts') && file !== 'main.ts' && file !== 'bench.ts' && !file.endsWith('.worker.ts'))
  .map(file => file.slice(0, -3))
  .filter(name => only === undefined || name === only)
if (names.length === 0) {
  process.stderr.write(`no bench is called ${only}\n`)
  process.exit(2)
}

const rows: BenchRow[] = []
for (const name of names) {
  process.stderr.write(`${name} ...\n`)
  const module: { bench(): Promise<BenchRow[]> } = await import(pathToFileURL(join(here, `${name}.ts`)).href)
  rows.push(...(await module.bench()))
}

const table = [
  `${machine()}, ${new Date().toISOString().slice(0, 10)}`,
  '',
  '| what | against | goal | measured | detail |',
  '|---|---|---|---|---|',
  ...rows.map(row => `| ${row.what} | ${row.against} | ${row.goal} | ${row.ratio.toFixed(2)} | ${row.detail} |`),
].join('\n')
process.stdout.write(`${table}\n`)
mkdirSync(join(here, 'results'), { recursive: true })
writeFileSync(join(here, 'results', `${only ?? 'all'}.md`), `${table}\n`)
