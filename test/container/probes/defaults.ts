import type { ContainerProcess } from '../../../runner/container/container.ts'

const mebibyte = 1_048_576

/** What a container is asked for where a test does not say otherwise; plain, for programs that tests start too. */
export const containerDefaults: Omit<ContainerProcess, 'engine' | 'image' | 'args' | 'cwd' | 'signal'> = {
  command: '/bin/probe',
  environment: {},
  stdin: null,
  timeoutSeconds: 60,
  limits: { stdout: mebibyte, stderr: mebibyte, combined: 2 * mebibyte },
  memoryLimitBytes: 64 * mebibyte,
  cpuLimitMillis: 1_000,
  pidsLimit: 64,
  onOutput() {},
  run: 'run',
  effect: 'run/task/1/0',
}
