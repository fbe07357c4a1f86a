import type { Annotation } from './step.ts'

/** What a step's output said to the runner. */
export interface CommandSink {
  annotation(annotation: Annotation): void
  mask(value: string): void
}

const LEVELS = new Set(['error', 'warning', 'notice', 'debug'])

const unescapeData = (text: string): string =>
  text.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%')
const unescapeProperty = (text: string): string => unescapeData(text.replaceAll('%3A', ':').replaceAll('%2C', ','))

/** Reads workflow commands line by line, as actions/runner's ActionCommand does, stop-commands included. */
export function commandReader(sink: CommandSink): (line: string) => void {
  let stopToken: string | null = null
  return line => {
    const match = /^\s*::([^\s:]+)(?: ([^:]*(?:%3A[^:]*)*))?::(.*)$/s.exec(line)
    if (!match) return
    const [, command = '', properties = '', data = ''] = match
    if (stopToken !== null) {
      if (command === stopToken) stopToken = null
      return
    }
    if (command === 'stop-commands') stopToken = data
    else if (command === 'add-mask') sink.mask(unescapeData(data))
    else if (LEVELS.has(command))
      sink.annotation(annotation(command as Annotation['level'], properties, unescapeData(data)))
  }
}

function annotation(level: Annotation['level'], properties: string, message: string): Annotation {
  const values = new Map(
    properties
      .split(',')
      .filter(Boolean)
      .map(pair => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at).trim(), unescapeProperty(pair.slice(at + 1))] as const
      }),
  )
  const [file, line, column, title] = ['file', 'line', 'col', 'title'].map(name => values.get(name))
  return {
    level,
    message,
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line: Number(line) }),
    ...(column !== undefined && { column: Number(column) }),
    ...(title !== undefined && { title }),
  }
}

/** `name=value` and `name<<DELIMITER` entries of GITHUB_OUTPUT, GITHUB_ENV and GITHUB_STATE. Throws as the runner fails the step. */
export function parseKeyValues(text: string): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  const lines = text.split(/\r?\n/)
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ''
    if (line === '') continue
    const equals = line.indexOf('=')
    const heredoc = line.indexOf('<<')
    if (equals >= 0 && (heredoc < 0 || equals < heredoc)) {
      if (equals === 0) throw new Error(`Invalid format '${line}'. Name must not be empty`)
      result[line.slice(0, equals)] = line.slice(equals + 1)
    } else if (heredoc > 0 && line.length > heredoc + 2) {
      const delimiter = line.slice(heredoc + 2)
      const end = lines.indexOf(delimiter, i + 1)
      if (end < 0) throw new Error(`Invalid value. Matching delimiter not found '${delimiter}'`)
      result[line.slice(0, heredoc)] = lines.slice(i + 1, end).join('\n')
      i = end
    } else throw new Error(`Invalid format '${line}'`)
  }
  return result
}
