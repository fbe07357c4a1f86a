import type { Plan } from '../../policy/document/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { planOf, write } from '../runner/support.ts'
import { sh } from './support.ts'

/** How often each process of `everything` leaves its line. */
export const lines = { cell: 2, loop: 3, flow: 2, after: 1 }

/** A document in which everything expands; its processes leave a line each outside every workspace. */
export function everythingSpec(log: string, maxConcurrency: number, approval: string): JsonObject {
  const line = (name: string) => sh(`echo ${name} >> '${log}'`)
  return {
    runtime: { maxConcurrency },
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval },
    inputs: { files: ['a', 'b', 'c'], way: 'left' },
    outputs: {
      files: '${{ tasks.files.output.items }}',
      loops: '${{ tasks.loop.output.iterations }}',
      route: '${{ tasks.route.output.destinations }}',
      flows: '${{ tasks.flows.output.items }}',
      right: '${{ tasks.right.output.router }}',
    },
    actions: {
      write,
      assign: { kind: 'builtin.assign' },
      cell: line('cell'),
      loop: line('loop'),
      flow: line('flow'),
      after: line('after'),
    },
    subworkflows: {
      f: {
        version: '1.0.0',
        inputSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
        outputSchema: { type: 'object', required: ['path'] },
        outputs: { path: '${{ tasks.file.output.path }}' },
        tasks: [
          { id: 'line', uses: 'action:flow' },
          {
            id: 'file',
            uses: 'action:write',
            needs: ['line'],
            with: { path: 'out/${{ inputs.name }}', content: 'exit ${{ tasks.line.output.exitCode }}' },
          },
        ],
      },
    },
    tasks: [
      {
        id: 'files',
        uses: 'action:write',
        foreach: { items: '${{ inputs.files }}' },
        with: { path: 'out/${{ vars.item }}', content: 'n${{ vars.foreachIndex }}' },
      },
      { id: 'cells', uses: 'action:cell', matrix: { axes: { x: [1], y: [1, 2] } } },
      {
        id: 'loop',
        uses: 'action:loop',
        needs: ['files'],
        loop: { maxIterations: 4, while: '${{ vars.loopIndex < 3 }}' },
      },
      {
        id: 'route',
        uses: 'router',
        needs: ['cells'],
        route: { select: '${{ inputs.way }}', cases: [{ equals: 'left', tasks: ['flows'] }], default: ['right'] },
      },
      {
        id: 'flows',
        uses: 'workflow:f',
        needs: ['route', 'loop'],
        foreach: { items: ['p', 'q'], as: 'name' },
        with: { name: '${{ vars.name }}' },
      },
      { id: 'right', uses: 'action:write', needs: ['route'], with: { path: 'out/right', content: 'x' } },
      { id: 'after', uses: 'action:after', needs: ['flows'] },
    ],
  }
}

export function everything(log: string, maxConcurrency: number, approval: string): Plan {
  return planOf(everythingSpec(log, maxConcurrency, approval))
}
