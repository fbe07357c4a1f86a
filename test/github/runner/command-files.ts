import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from '../world.ts'
import { commandReader, parseKeyValues } from './commands.ts'
import type { Annotation, StepConclusion, StepResult } from './step.ts'

/** What the steps of one job leave to each other. */
export interface Shared {
  world: World
  temp: string
  /** Texts that the log shows as `***`. */
  masks: Set<string>
  /** From GITHUB_ENV and GITHUB_PATH. */
  environment: { [name: string]: string }
  path: string[]
}

export type StepWork = (
  files: { readonly [variable: string]: string },
  output: (text: string) => void,
) => Promise<StepConclusion>

const SUMMARY_LIMIT = 1024 * 1024

/** Runs a step's work with its own set of command files, reads its output for commands meanwhile and the files afterwards. */
export async function withCommandFiles(result: StepResult, shared: Shared, work: StepWork): Promise<void> {
  const key = randomUUID()
  const fileOf = (name: string) => join(shared.temp, '_runner_file_commands', `${name}_${key}`)
  const files = {
    GITHUB_OUTPUT: fileOf('set_output'),
    GITHUB_ENV: fileOf('set_env'),
    GITHUB_PATH: fileOf('add_path'),
    GITHUB_STATE: fileOf('save_state'),
    GITHUB_STEP_SUMMARY: fileOf('step_summary'),
  }
  for (const file of Object.values(files)) writeFileSync(file, '')
  const annotate = (annotation: Annotation) => void result.annotations.push(annotation)
  const read = commandReader({ annotation: annotate, mask: value => void (value !== '' && shared.masks.add(value)) })
  let pending = ''
  let conclusion = await work(files, text => {
    result.raw += text
    const lines = (pending + text).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) read(line.replace(/\r$/, ''))
  })
  if (pending !== '') read(pending)
  try {
    result.outputs = { ...result.outputs, ...parseKeyValues(readFileSync(files.GITHUB_OUTPUT, 'utf8')) }
    result.state = { ...result.state, ...parseKeyValues(readFileSync(files.GITHUB_STATE, 'utf8')) }
    Object.assign(shared.environment, parseKeyValues(readFileSync(files.GITHUB_ENV, 'utf8')))
    shared.path.unshift(...readFileSync(files.GITHUB_PATH, 'utf8').split('\n').filter(Boolean))
  } catch (error) {
    annotate({ level: 'error', message: `Unable to process file command successfully. ${(error as Error).message}` })
    conclusion = 'failure'
  }
  const summary = readFileSync(files.GITHUB_STEP_SUMMARY)
  if (summary.length <= SUMMARY_LIMIT) result.summary += summary.toString()
  else {
    const size = `supports content up to a size of 1024k, got ${Math.ceil(summary.length / 1024)}k.`
    annotate({ level: 'error', message: `$GITHUB_STEP_SUMMARY upload aborted, ${size}` })
  }
  if (result.conclusion === 'success') result.conclusion = conclusion
  const longestFirst = [...shared.masks].sort((a, b) => b.length - a.length)
  result.log = longestFirst.reduce((text, mask) => text.replaceAll(mask, '***'), result.raw)
  result.completedAt = shared.world.now()
  shared.world.changed()
}
