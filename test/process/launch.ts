import { closeSync } from 'node:fs'
import { openDirectory } from '../../runner/facts/directory.ts'
import { openExecutable } from '../../runner/facts/executable.ts'
import type { ArmedHost, ArmOptions } from '../../runner/process/containment/armed-host.ts'
import { type HostProcess, type RunningProcess, runHostProcess } from '../../runner/process/host-process.ts'

/** A directory of one test, with a registry of its own, and the tag that everything started for it carries. */
export interface Room {
  directory: string
  tag: string
  options: ArmOptions
  file(name: string): string
  script(name: string, text: string): string
  remove(): void
}

export interface Launch {
  command: string
  args?: readonly string[]
  environment?: { [name: string]: string }
  stdin?: Uint8Array | null
  timeoutSeconds?: number
  limits?: Partial<HostProcess['limits']>
  signal?: AbortSignal
  effect?: string
}

const mebibyte = 1_048_576

/** Starts one process of an effect as the executor does. */
export function launch(
  room: Pick<Room, 'directory' | 'tag'>,
  armed: ArmedHost | null,
  options: Launch,
): RunningProcess {
  const cwd = openDirectory(room.directory)
  const executable = openExecutable(options.command, room.directory, [])
  const running = runHostProcess({
    executable,
    argv0: options.command,
    args: options.args ?? [],
    cwd,
    environment: { TAG: room.tag, ...options.environment },
    stdin: options.stdin ?? null,
    timeoutSeconds: options.timeoutSeconds ?? 30,
    limits: { stdout: mebibyte, stderr: mebibyte, combined: 2 * mebibyte, ...options.limits },
    onOutput() {},
    signal: options.signal ?? new AbortController().signal,
    ...(options.effect !== undefined && { effect: options.effect }),
    ...(armed !== null && { armed }),
  })
  const close = () => {
    closeSync(executable.fd)
    if (cwd.fd !== null) closeSync(cwd.fd)
  }
  void running.wait.then(close)
  return running
}

/** A shell script by its text; `$0` is `sh`. */
export function sh(script: string, ...args: string[]): Pick<Launch, 'command' | 'args'> {
  return { command: '/bin/sh', args: ['-c', script, 'sh', ...args] }
}

export const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()
