import type { Notes } from './apply.ts'
import { actionNotes, agentNotes, providerNotes, subworkflowNotes, taskNotes, toolNotes } from './items.ts'
import { policyNotes, secretNotes } from './policy.ts'

/** Notes that say what the whole is, over those of its fields. */
export function titled(text: string, notes: Notes): Notes {
  return typeof notes === 'string' ? text : { ...notes, '': text }
}

const headers: Notes = { '': 'headers of each request, each read from a secret reference', '*': secretNotes }
const seconds = 'seconds for one request'

/** A document. */
export const workflowNotes: Notes = {
  '': 'automation that agentctl runs under its policy',
  apiVersion: 'version of the document language; `agentctl.dev/v1alpha1` is its older name',
  kind: 'what the document is',
  metadata: {
    '': 'about the document',
    name: 'name of the workflow',
    description: 'for people',
    labels: 'texts by name, for people and records',
  },
  spec: {
    '': 'what runs, with what, and within which policy',
    providers: { '': 'model providers by name', '*': providerNotes },
    agents: { '': 'model agents by name, used as `agent:NAME`', '*': agentNotes },
    actions: { '': 'actions by name, used as `action:NAME`', '*': actionNotes },
    tools: { '': 'tools of agents by name', '*': toolNotes },
    subworkflows: { '': 'sub-workflows by name, used as `workflow:NAME`', '*': subworkflowNotes },
    tasks: { '*': taskNotes },
    policy: titled('what the runtime lets effects do; empty lists allow nothing', policyNotes),
    memory: {
      '': 'what tasks remember',
      longTerm: {
        '': 'memory that outlives a run',
        provider: 'where it is kept',
        namespace: 'name under which runs share it',
        retentionDays: 'days until an entry is forgotten; by default never',
        embedding: 'not supported',
      },
    },
    mcpServers: {
      '': 'MCP servers by name',
      '*': { url: 'address', headers, timeoutSeconds: seconds, protocolVersion: 'version of the protocol' },
    },
    a2aPeers: {
      '': 'A2A agents by name',
      '*': {
        cardUrl: 'address of the agent card',
        headers,
        timeoutSeconds: seconds,
        maxPolls: 'number of questions for a result, at most',
        pollIntervalMs: 'milliseconds between two questions',
        protocolVersion: 'version of the protocol',
      },
    },
    packs: {
      '': 'files of shared definitions, used as `PACK.NAME`',
      '*': {
        name: 'name that the manifest of the pack has',
        version: 'range of versions that will do, `^1.0` or `>=1.0.0, <2.0.0`',
        source: { '': 'where the pack lies; local files only', path: 'manifest, relative to the document' },
      },
    },
    packTrust: {
      '': 'what packs may do; none of them is signed',
      unsigned: 'whether packs are refused, warned of, or used silently',
      allowUnsignedProcess: 'whether a pack may have process actions; the policy still decides about each process',
    },
    compensation: {
      '': 'taking back what a failed run did',
      onFailure: 'whether it starts by itself',
      approval: '`always` adds to what the policy requires, `never` does not take from it',
    },
    runtime: {
      '': 'how the run proceeds',
      maxConcurrency: 'number of tasks at once',
      defaultTimeoutSeconds: 'seconds until an effect is ended that says nothing else',
      budgets: {
        '': 'bounds of the whole run; one that is left out does not bind',
        maxProviderRequests: 'number of requests to model providers',
        maxTurns: 'number of answers of models',
        maxToolCalls: 'number of calls of tools by models',
        maxInputTokens: 'tokens that models read',
        maxOutputTokens: 'tokens that models write',
        maxTotalTokens: 'tokens that models read and write',
        maxWallTimeSeconds:
          'seconds that jobs work on the run, all its resumes together; not what people take to decide',
        maxProcessOutputBytes: 'bytes that processes print',
        maxArtifactBytes: 'bytes of artifacts',
        maxTasks: 'number of tasks after expansion',
        maxExpansionItems: 'number of items of foreach and matrix',
        maxLoopIterations: 'number of iterations of loops',
        maxCostMicrousd: 'millionths of a US dollar, by `pricing`',
      },
      pricing: {
        '': 'what models cost, for budgets',
        version: 'version of these prices, for records',
        models: {
          '': 'prices by PROVIDER/MODEL',
          '*': {
            inputMicrousdPerMillionTokens: 'millionths of a US dollar for a million tokens read',
            outputMicrousdPerMillionTokens: 'millionths of a US dollar for a million tokens written',
            reasoningMicrousdPerMillionTokens: 'millionths of a US dollar for a million tokens of reasoning',
            cacheReadMicrousdPerMillionTokens: 'millionths of a US dollar for a million tokens from the cache',
            cacheWriteMicrousdPerMillionTokens: 'millionths of a US dollar for a million tokens into the cache',
          },
        },
      },
    },
    output: {
      '': 'what the command line prints',
      verbose: 'whether every step is shown',
      showDiff: 'whether the difference of each write is shown',
    },
  },
}

/** A pack's manifest, which shares its items with the document. */
export const packNotes: Notes = {
  '': 'definitions that documents share; what they may do is decided by the document alone',
  actions: { '*': actionNotes },
  agents: { '*': agentNotes },
  tools: { '*': toolNotes },
  workflows: { '*': subworkflowNotes },
}
