import type { Notes } from './apply.ts'
import { secretNotes } from './policy.ts'

const mebibyte = 1_048_576
const secrets = (text: string): Notes => ({ '': text, '*': secretNotes })

const retry: Notes = {
  maxAttempts: 'attempts in all, the first included',
  backoffMs: 'milliseconds between two attempts',
}

export const actionNotes: Notes = {
  kind: 'what the action does; the table of kinds in docs/document.md says what each takes and gives',
  description: 'for people',
  idempotency: 'what repeating the effect does; by default what its kind is known for',
  args: 'arguments of the program, as they are',
  env: { '*': secretNotes },
  timeoutSeconds: 'seconds until the effect is ended; by default `spec.runtime.defaultTimeoutSeconds`',
  stdoutLimitBytes: { '': 'bytes of standard output beyond which the effect fails', '=': mebibyte },
  stderrLimitBytes: { '': 'bytes of standard error beyond which the effect fails', '=': mebibyte },
  combinedOutputLimitBytes: { '': 'bytes of both outputs together beyond which the effect fails', '=': 2 * mebibyte },
  isolation: 'where a process runs: on the host (no sandbox), in a container, or in a cell; never anything weaker',
  container: {
    runtime: 'engine; `auto` takes the one that is there',
    memoryLimitBytes: 'bytes of memory',
    cpuLimitMillis: 'thousandths of a processor core',
    pidsLimit: 'processes and threads at once',
  },
  cell: {
    profile: 'only production cells count as isolated',
    memoryLimitBytes: 'bytes of memory',
    cpuLimitMillis: 'thousandths of a processor core',
    processLimit: 'processes at once',
    diskLimitBytes: 'bytes on its disk',
    inodeLimit: 'files and directories on its disk',
    ioReadBytesPerSecond: 'bytes read per second',
    ioWriteBytesPerSecond: 'bytes written per second',
    tmpLimitBytes: 'bytes below /tmp',
  },
}

export const agentNotes: Notes = {
  provider: 'name of a provider of `spec.providers`',
  model: 'name of the model as the provider has it',
  description: 'for people',
  instructions: 'what the model is told before the task',
  instructionsFile: 'file with what the model is told, relative to the document',
  vars: 'variables of its instructions',
  varsFiles: 'YAML or JSON files of such variables, relative to the document; `vars` stand above them',
  stream: 'whether the answer is taken as it comes',
  maxTurns: 'number of answers of the model, at most',
  maxToolCalls: 'number of calls of tools, at most',
  maxOutputTokens: 'tokens of one answer, at most',
  timeoutSeconds: 'seconds for one request',
  retry,
  reasoning: {
    '': 'how much the model thinks before it answers',
    effort: 'how much',
    mode: 'mode of the provider',
  },
  usageLimit: {
    '': 'bounds of everything that the agent uses in one task',
    maxInputTokens: 'tokens that the model reads',
    maxOutputTokens: 'tokens that the model writes',
    maxCostUsd: 'US dollars, by `spec.runtime.pricing`',
  },
  providerOptions: 'passed to the provider as they are',
}

export const providerNotes: Notes = {
  kind: 'protocol that the provider speaks; `fake` answers without a network',
  endpoint: 'address of its API, where it is not the public one',
  credential: secretNotes,
  apiVersion: 'version of the API, where the provider has several',
  headers: secrets('further headers, each read from a secret reference'),
}

export const toolNotes: Notes = {
  kind: 'what the tool does',
  description: 'what the model is told about it',
  capability: 'capability that policy lists may name',
  risk: 'how much a mistake would cost',
  effectClass: 'what the tool touches',
  idempotency: 'what repeating a call does',
  retrySafe: 'whether a call that failed may be repeated',
  timeoutSeconds: 'seconds for one call',
  secrets: secrets('secrets that it needs'),
  network: 'hosts that it needs',
  approval: '`always` adds to what the policy requires, `never` does not take from it',
}

const condition = 'a condition such as `tasks.build.output.exitCode == 0`'

export const taskNotes: Notes = {
  id: 'name of the task, unique in its list',
  foreach: {
    '': 'makes one task for each item; their results are `items` of the output',
    items: 'a list, or a template that gives one from inputs and variables',
    as: 'variable that holds the item',
    maxItems: 'number of items, at most',
  },
  matrix: {
    '': 'makes one task for each combination of the axes',
    axes: 'values by name of the axis; a task reads `vars.matrix.NAME`',
    maxItems: 'number of combinations, at most',
  },
  route: {
    '': 'chooses which of the tasks that depend on this one run',
    select: 'template of the value that decides',
    cases: {
      '': 'the first whose value equals is taken',
      '*': { equals: 'value, compared with its type', tasks: 'tasks that run then' },
    },
    default: 'tasks that run where no case equals',
  },
  loop: {
    '': 'repeats the task in a chain of at most `maxIterations`',
    maxIterations: 'number of iterations, at most; a guard that is still true afterwards fails the task',
    while: `${condition}; judged before each iteration`,
    initial: '`vars.loopPrevious` of the first iteration',
  },
  vars: 'variables of this task, above those of the document',
  varsFiles: 'YAML or JSON files of such variables, relative to the document; `vars` stand above them',
  timeoutSeconds: 'seconds until the effect is ended; by default those of its action',
  retry,
  failure: 'whether tasks that do not depend on this one go on where it fails; the run fails in any case',
  compensate: {
    '': 'what takes the effect of this task back, once it succeeded and the run did not',
    uses: 'action:NAME',
    with: 'input of that action',
    timeoutSeconds: 'seconds until it is ended; by default those of its action',
    retry,
  },
}

export const subworkflowNotes: Notes = {
  version: 'version, for people and records',
  inputs: 'default values of its inputs',
  inputSchema: 'JSON Schema, draft 2020-12, that its inputs satisfy',
  outputs: 'templates of its outputs',
  outputSchema: 'JSON Schema, draft 2020-12, that its outputs satisfy',
  tasks: { '': 'its graph', '*': taskNotes },
}
