import { parse } from 'yaml'
import { compile, parseDocument } from '../policy/document/index.ts'
import { type BenchRow, median } from './bench.ts'

const rounds = 21

/**
 * Text to plan with its digests, against parsing the same text by `yaml` alone; for a flat map too; and the cost of each
 * task in a large document against a small one, which is 1 where time grows with the text.
 */
export async function bench(): Promise<BenchRow[]> {
  const texts = { large: tasks(5000), small: tasks(500), wide: keys(80_000) }
  const sides = {
    large: () => planned(texts.large),
    yaml: () => void parse(texts.large, { uniqueKeys: false }),
    small: () => planned(texts.small),
    wide: () => planned(texts.wide),
    yamlWide: () => void parse(texts.wide, { uniqueKeys: false }),
  }
  const times = interleaved(sides)
  const name = 'compile'
  const size = `${(texts.large.length / 1_048_576).toFixed(2)} MiB, 5,000 tasks`
  const { large, yaml, small, wide, yamlWide } = times
  return [
    {
      name,
      what: `compile, ${size}`,
      against: 'parse by `yaml` alone (uniqueKeys off)',
      goal: '<= 1.25x',
      ratio: large / yaml,
      detail: `${large.toFixed(0)} ms against ${yaml.toFixed(0)} ms, ${rounds} pairs`,
    },
    {
      name,
      what: 'compile, each of 5,000 tasks',
      against: 'each of 500 tasks',
      goal: 'linear, <= 1.25x',
      ratio: large / 5000 / (small / 500),
      detail: `${((large / 5000) * 1000).toFixed(0)} us against ${((small / 500) * 1000).toFixed(0)} us`,
    },
    {
      name,
      what: 'compile, a flat map of 80,000 keys',
      against: 'parse by `yaml` alone (uniqueKeys off), which is linear',
      goal: 'linear, <= 1.25x',
      ratio: wide / yamlWide,
      detail: `${wide.toFixed(0)} ms against ${yamlWide.toFixed(0)} ms, ${rounds} pairs`,
    },
  ]
}

/** Every side in turn, so that a drift of the machine meets all alike; the first round is a warm-up. */
function interleaved<Name extends string>(sides: { [side in Name]: () => void }): { [side in Name]: number } {
  const names = Object.keys(sides) as Name[]
  const taken = new Map<Name, number[]>(names.map(side => [side, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const side of names) {
      const start = performance.now()
      sides[side]()
      if (round > 0) taken.get(side)?.push(performance.now() - start)
    }
  }
  return Object.fromEntries(names.map(side => [side, median(taken.get(side) ?? [])])) as { [side in Name]: number }
}

function planned(text: string): void {
  const { document } = parseDocument({ text, file: 'bench.yaml' })
  if (document === null) throw new Error('the bench document does not parse')
  const { plan, diagnostics } = compile({ document, inputs: {}, files: {}, floor: null })
  if (plan === null) throw new Error(`the bench document does not compile: ${diagnostics[0]?.message}`)
}

/** A chain of tasks, 200 bytes each. */
function tasks(count: number): string {
  const list = Array.from({ length: count }, (_, index) => {
    const before = index === 0 ? '' : `task-${index - 1}`
    return [
      `    - id: task-${index}`,
      '      uses: action:assign',
      `      needs: [${before}]`,
      '      with:',
      `        message: "step ${index} of \${{ inputs.name }}"`,
      '        text: what this step is for, as the person wrote it',
    ].join('\n')
  })
  return `${head}  actions:\n    assign:\n      kind: builtin.assign\n  tasks:\n${list.join('\n')}\n`
}

function keys(count: number): string {
  const list = Array.from({ length: count }, (_, index) => `k${index}: 1`)
  return `${head}  tasks: [{id: a, uses: "action:assign"}]\n  actions: {assign: {kind: builtin.assign}}\n  vars: {${list.join(', ')}}\n`
}

const head = 'apiVersion: agentctl.dev/v1\nkind: Workflow\nmetadata:\n  name: bench\nspec:\n  inputs: {name: bench}\n'
