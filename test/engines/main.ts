import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startEngines } from './engines.ts'

// `node test/engines/main.ts COMMAND ...` runs a command with both engines in its environment, and stops them after it.

const [command, ...args] = process.argv.slice(2)
if (command === undefined) throw new Error('usage: node test/engines/main.ts COMMAND [ARGUMENT ...]')
const { stop, ...engines } = await startEngines()
const env = { ...process.env, ...engines.podman.env, ...engines.docker.env, PATH: process.env['PATH'] }
const child = spawn(command, args, {
  stdio: 'inherit',
  env: { ...env, AGENTCTL_TEST_ENGINES: JSON.stringify(engines) },
})
const [code] = await once(child, 'exit')
await stop()
process.exitCode = Number(code ?? 1)
