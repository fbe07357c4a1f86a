import { sha256 } from '../../canonical.ts'
import type { LoadedPack } from './loaded.ts'
import { rangeHelp, type Versions } from './versions.ts'
import { refuse, type Wanted, whose } from './wanted.ts'

/** Whether the file's bytes are those that were reviewed; the text is theirs exactly, since only UTF-8 is read. */
export function checkIntegrity(wanted: Wanted, path: string, text: string): boolean {
  const { integrity, name } = wanted
  const actual = `sha256:${sha256(text)}`
  if (integrity === undefined || integrity === actual) return true
  refuse(
    wanted,
    ['integrity'],
    `pack \`${name}\`: ${path} has ${actual}, not the ${integrity} that its integrity names`,
    'review what changed in the file, then write its new SHA-256, or restore the file',
    'policy_denied',
  )
  return false
}

/** Whether the version that was found is in the range that is asked for; without `versions` nothing is checked. */
export function checkVersion(wanted: Wanted, pack: LoadedPack | null, versions: Versions | null): void {
  const { name, version } = wanted
  const has = pack?.manifest.version
  const fits = versions?.inRange(has ?? '0.0.0', version)
  if (fits === null)
    refuse(wanted, ['version'], `version of pack \`${name}\` is \`${version}\`, which is no range`, rangeHelp)
  else if (fits === false && has !== undefined) {
    const message = `${whose(wanted)} asks for \`${name}\` ${version}; ${pack?.file ?? ''} is ${has}`
    refuse(wanted, ['version'], message, 'use a pack of that version, or change the range', 'missing_reference')
  }
}

/** Reports each circle of packs that depend on each other, where it closes. */
export function reportCycles(names: Iterable<string>, packOf: (name: string) => LoadedPack | null): void {
  const done = new Set<string>()
  const visit = (name: string, open: readonly string[]): void => {
    const pack = packOf(name)
    if (pack === null || done.has(name)) return
    for (const next of Object.keys(pack.manifest.dependencies)) {
      const from = [...open, name].indexOf(next)
      if (from < 0) visit(next, [...open, name])
      else {
        const circle = [...open, name, next].slice(from)
        pack.reporter.report(['dependencies', next], {
          code: 'dependency_cycle',
          message: `packs depend on each other in a circle: ${circle.join(' -> ')}`,
          help: 'remove one of these dependencies',
          on: 'key',
        })
      }
    }
    done.add(name)
  }
  for (const name of names) visit(name, [])
}
