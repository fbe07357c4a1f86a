import { resolve } from 'node:path'
import { readVars } from '../policy/document/index.ts'
import type { Json, JsonObject } from '../policy/json.ts'
import { jsonFault } from '../policy/json-fault.ts'
import { CliError, FindingsError } from './failure.ts'
import { readWhole } from './files.ts'
import type { DocumentOptions } from './options.ts'

/** Inputs of the command line: those of `--inputs-file`, those of `--input` over them. Throws CliError, exit 2. */
export function readInputs(directory: string, { inputsFile, input }: DocumentOptions): JsonObject {
  const inputs = inputsFile === undefined ? {} : readMap(directory, inputsFile)
  for (const word of input) {
    const equals = word.indexOf('=')
    const name = word.slice(0, equals)
    if (equals < 1 || name === '__proto__')
      throw new CliError('invalid_input', `--input ${word} names no input`, { help: 'write --input NAME=VALUE' })
    inputs[name] = inputValue(name, word.slice(equals + 1))
  }
  return inputs
}

/** Variables of every `--vars-file`, a later file over an earlier one. Throws CliError, exit 2. */
export function readVarsFiles(directory: string, { varsFile }: DocumentOptions): JsonObject {
  return Object.assign({}, ...varsFile.map(file => readMap(directory, file)))
}

function readMap(directory: string, file: string): JsonObject {
  const { vars, diagnostics } = readVars(readWhole(resolve(directory, file), file), file)
  if (diagnostics.length > 0) throw new FindingsError(diagnostics)
  return vars
}

/** JSON where it is that, else the text as it stands. */
function inputValue(name: string, text: string): Json {
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return text
  }
  const fault = jsonFault(value)
  if (fault === null) return value
  throw new CliError('invalid_input', `--input ${name} cannot be used: ${fault}`, {
    help: `a number is passed as text: --input '${name}="..."'`,
  })
}
