import type { Plan } from '../../policy/document/index.ts'
import { planOf, write } from './support.ts'

/** Ten tasks: writes, processes that leave a line outside every workspace, memory, pure ones. */
export function tenTasks(log: string, maxConcurrency: number, approval: string): Plan {
  const tool = (id: string) => ({
    kind: 'builtin.shell.exec',
    command: '/bin/sh',
    args: ['-c', `echo ${id} >> '${log}'`],
  })
  return planOf({
    runtime: { maxConcurrency },
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval },
    outputs: { memory: '${{ tasks.recall.output.value }}' },
    actions: {
      write,
      assign: { kind: 'builtin.assign' },
      remember: { kind: 'builtin.memory.write' },
      recall: { kind: 'builtin.memory.read' },
      'tool-a': tool('tool-a'),
      'tool-b': tool('tool-b'),
      'tool-c': tool('tool-c'),
    },
    tasks: [
      { id: 'value', uses: 'action:assign', with: { text: 'from value' } },
      {
        id: 'one',
        uses: 'action:write',
        needs: ['value'],
        with: { path: 'out/one', content: '${{ tasks.value.output.output.text }}' },
      },
      { id: 'tool-a', uses: 'action:tool-a' },
      {
        id: 'remember',
        uses: 'action:remember',
        needs: ['one'],
        with: { key: 'k', value: '${{ tasks.one.output.path }}' },
      },
      { id: 'one-again', uses: 'action:write', needs: ['one'], with: { path: 'out/one', content: 'later' } },
      { id: 'two', uses: 'action:write', with: { path: 'out/deep/two', content: 'two' } },
      { id: 'tool-b', uses: 'action:tool-b', needs: ['tool-a'] },
      { id: 'recall', uses: 'action:recall', needs: ['remember'], with: { key: 'k' } },
      {
        id: 'three',
        uses: 'action:write',
        needs: ['recall'],
        with: { path: 'out/three', content: '${{ tasks.recall.output.value }}' },
      },
      { id: 'tool-c', uses: 'action:tool-c', needs: ['tool-b', 'three'] },
    ],
  })
}
