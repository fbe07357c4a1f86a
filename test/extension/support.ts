import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Plan } from '../../policy/document/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import type { RunnerPorts, RunOutcome } from '../../runner/index.ts'
import { planOf, putFile, type Scene, start } from '../runner/support.ts'

export const protocolVersion = 'agentctl.dev/process-extension/v1'
export const inputSchema = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', pattern: '^[a-z]+$' }, text: { type: 'string' } },
  additionalProperties: false,
}
export const outputSchema = { type: 'object', required: ['greeting'], properties: { greeting: { type: 'string' } } }
export const capabilities = ['greet', 'count']

/** What a good handshake prints, in an order of keys of its own. */
export const handshake: JsonObject = {
  name: 'greeter',
  capabilities,
  outputSchema,
  inputSchema,
  protocolVersion,
}

export interface Program {
  /** Shell lines of the handshake; by default it prints `handshake`. */
  shake?: string
  /** Shell lines of the invocation, with `$request` as read and `$effect` taken from it; by default a good reply. */
  invoke?: string
  /** Whether the request is read at all before. */
  reads?: boolean
}

/** Prints a text as it is. */
export function print(text: string): string {
  return `printf '%s' ${quoted(text)}`
}

/** Prints a good handshake. */
export const shake = print(JSON.stringify(handshake))

/** A reply with `$effect` in the place of its id. */
export function reply(fields: JsonObject = {}): string {
  const whole = JSON.stringify({ protocolVersion, effectId: 'EFFECT', output: { greeting: 'hi' }, ...fields })
  return `printf '%s' ${quoted(whole).replace('EFFECT', `'"$effect"'`)}`
}

/** An extension in `bin/extension` that leaves `shaken` and `invoked` in its directory, a line for each time. */
export function putExtension(scene: Scene, { shake: shaking, invoke, reads = true }: Program = {}): void {
  const text = `#!/bin/sh
for last in "$@"; do :; done
case "$last" in
--agentctl-handshake)
  echo "$$" >> shaken
  ${shaking ?? shake}
  ;;
--agentctl-invoke)
  echo "$$" >> invoked
  ${reads ? 'request=$(cat)\n  effect=$(printf %s "$request" | sed -n \'s/.*"effectId":"\\([0-9a-f]*\\)".*/\\1/p\')' : ''}
  ${invoke ?? reply()}
  ;;
*) exit 9 ;;
esac
`
  putFile(scene, 'bin/extension', text, 0o755)
}

export interface Settings {
  action?: JsonObject
  task?: JsonObject
  policy?: JsonObject
  inputs?: JsonObject
  runtime?: JsonObject
  ports?: Partial<RunnerPorts>
}

export function extensionPlan({ action, task, policy, inputs, runtime }: Settings = {}): Plan {
  return planOf(
    {
      ...(runtime !== undefined && { runtime }),
      ...(inputs !== undefined && { inputs: {} }),
      policy: { approval: 'never', writableRoots: ['out'], processAllowlist: ['extension'], ...policy },
      outputs: { result: '${{ tasks.greet.output }}' },
      actions: {
        greeter: {
          kind: 'extension.process',
          command: './bin/extension',
          protocolVersion,
          inputSchema,
          outputSchema,
          capabilities,
          ...action,
        },
      },
      tasks: [{ id: 'greet', uses: 'action:greeter', with: { name: 'world' }, ...task }],
    },
    inputs,
  )
}

/** Runs a document of one task that uses the extension. */
export function run(scene: Scene, settings: Settings = {}): Promise<RunOutcome> {
  const { ports } = settings
  return start(scene, extensionPlan(settings), ports === undefined ? {} : { ports })
}

/** Pids under which the extension was started with an argument; empty where it never was. */
export function witness(scene: Scene, what: 'shaken' | 'invoked'): number[] {
  const place = path.join(scene.workspace, what)
  if (!existsSync(place)) return []
  return readFileSync(place, 'utf8').trim().split('\n').map(Number)
}

/** Code of the task's error. */
export function codeOf(outcome: RunOutcome): string {
  return /\(([a-z_]+)\)/.exec(outcome.messages[0] ?? '')?.[1] ?? ''
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
