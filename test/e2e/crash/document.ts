import { existsSync, readFileSync } from 'node:fs'
import type { JsonObject } from '../../../policy/json.ts'

/** Approval mode of the document: nobody is asked, or every write and process waits for a person. */
export type Gate = 'never' | 'mutations'

/**
 * Ten tasks: writes, one of them over another's file, reads, an assertion, memory, and processes that leave one line each
 * in `witness`, a file outside every workspace that is only ever appended to.
 */
export function tenTasks(witness: string, approval: Gate): JsonObject {
  const tool = (script: string) => ({ kind: 'builtin.shell.exec', command: '/bin/sh', args: ['-c', script] })
  const says = (id: string) => `echo ${id} >> '${witness}'`
  return {
    policy: { writableRoots: ['out'], processAllowlist: ['sh'], approval },
    outputs: { copied: '${{ tasks.copy.output.path }}' },
    actions: {
      write: { kind: 'builtin.write' },
      read: { kind: 'builtin.read' },
      assert: { kind: 'builtin.assert' },
      remember: { kind: 'builtin.memory.write' },
      late: tool(`sleep 0.05; ${says('late')}`),
      early: tool(`${says('early')}; sleep 0.05`),
      plain: tool(says('plain')),
    },
    tasks: [
      { id: 'one', uses: 'action:write', with: { path: 'out/one', content: 'first' } },
      { id: 'late', uses: 'action:late', needs: ['one'] },
      { id: 'look', uses: 'action:read', needs: ['one'], with: { path: 'out/one' } },
      {
        id: 'check',
        uses: 'action:assert',
        needs: ['look'],
        with: { that: '${{ tasks.look.output.content == "first" }}' },
      },
      {
        id: 'keep',
        uses: 'action:remember',
        needs: ['look'],
        with: { key: 'seen', value: '${{ tasks.look.output.content }}' },
      },
      { id: 'again', uses: 'action:write', needs: ['check'], with: { path: 'out/one', content: 'second' } },
      { id: 'early', uses: 'action:early', needs: ['again', 'late'] },
      {
        id: 'copy',
        uses: 'action:write',
        needs: ['keep', 'early'],
        with: { path: 'out/deep/copy', content: '${{ memory.seen }}, then second' },
      },
      { id: 'plain', uses: 'action:plain', needs: ['copy'] },
      { id: 'last', uses: 'action:write', needs: ['plain'], with: { path: 'out/last', content: 'ü\n' } },
    ],
  }
}

/** What stands in the workspace of the attempt that ended the run. */
export const files: { readonly [path: string]: string } = {
  'out/one': 'second',
  'out/deep/copy': 'first, then second',
  'out/last': 'ü\n',
}

/** Tasks with an effect of their own on the world. */
export const effectful = ['again', 'copy', 'early', 'last', 'late', 'one', 'plain']
export const processes: readonly string[] = ['early', 'late', 'plain']

/** Lines of the witness: the tasks whose process ran, in order. */
export const witnessed = (witness: string): string[] =>
  existsSync(witness) ? readFileSync(witness, 'utf8').split('\n').slice(0, -1) : []

/** What `shell.exec` gives that said nothing: the result of a process of which only the witness tells. */
export const silentResult = { status: 'changed', changed: true, exitCode: 0, stdout: '', stderr: '' }
