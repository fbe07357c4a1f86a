import type { Finding } from '../command.ts'
import type { Line, Part } from './text.ts'

/** Each finding with its place as editors read it, `file:line:column`, then what to do, then how many there are. */
export function findingLines(findings: readonly Finding[]): Line[] {
  return findings.flatMap(({ code, severity, message, help, path, ...place }) => {
    const word: Part = severity === 'error' ? ['red', 'error'] : ['yellow', 'warning']
    const head: Line = [...placeParts(place), word, ` ${code}: ${message}`]
    return [
      head,
      ...(path === '' ? [] : [[['dim', `    at ${path}`]] as const]),
      ...(help === '' ? [] : [`    help: ${help}`]),
    ]
  })
}

/** `2 errors, 1 warning`; empty where there is nothing. */
export function countOf(findings: readonly Finding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.length - errors
  return [
    ...(errors > 0 ? [`${errors} ${errors === 1 ? 'error' : 'errors'}`] : []),
    ...(warnings > 0 ? [`${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`] : []),
  ].join(', ')
}

function placeParts({ file, line, column }: Pick<Finding, 'file' | 'line' | 'column'>): Part[] {
  if (file === '') return []
  return [['bold', line === 0 ? file : `${file}:${line}:${column}`], ': ']
}
