import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { bundle, entries } from '../../build.ts'
import type { Ended } from '../cli/support.ts'

/** The command line as it is shipped: its start costs a tenth of what the source's does. */
export interface BuiltCli {
  /** Runs one command line to its end, with exactly this environment. */
  run(
    directory: string,
    environment: { [name: string]: string },
    argv: readonly string[],
    user?: { uid: number; node: string } | null,
  ): Promise<Ended>
  /** Where it lies, for those who hand it to another user. */
  folder: string
  remove(): void
}

export async function buildCli(): Promise<BuiltCli> {
  const folder = mkdtempSync(path.join(tmpdir(), 'agentctl-cli-'))
  await bundle(folder, { cli: entries.cli })
  return {
    folder,
    run: (directory, environment, argv, user = null) =>
      new Promise((resolve, reject) => {
        const child = spawn(user?.node ?? process.execPath, [path.join(folder, 'cli.js'), ...argv], {
          cwd: directory,
          env: environment,
          stdio: ['ignore', 'pipe', 'pipe'],
          ...(user !== null && { uid: user.uid, gid: user.uid }),
        })
        const read = { stdout: '', stderr: '' }
        for (const name of ['stdout', 'stderr'] as const)
          child[name].setEncoding('utf8').on('data', (text: string) => {
            read[name] += text
          })
        child.once('error', reject)
        child.once('close', code => resolve({ code, ...read }))
      }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
