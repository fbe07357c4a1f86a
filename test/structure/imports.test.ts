import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const rooms = ['policy', 'ledger', 'runner', 'action', 'control-plane', 'cli'] as const
type Room = (typeof rooms)[number]

/** Which rooms each room may import from beside itself: the house's one direction. */
const allowed: Record<Room, readonly Room[]> = {
  policy: [],
  ledger: ['policy'],
  runner: ['policy', 'ledger'],
  action: ['policy', 'ledger', 'runner'],
  cli: ['policy', 'ledger', 'runner'],
  'control-plane': ['policy', 'ledger'],
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name))
}

/** Every module that a file names in a static or dynamic import or re-export. */
function importsOf(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom\s+|\bimport\s*\(\s*|^\s*import\s+)(['"])([^'"\n]+)\1/gm)
  return [...found].map(match => match[2] ?? '')
}

function roomOf(path: string): string {
  return relative(root, path).split('/')[0] ?? ''
}

function mayImport(room: Room, target: string): boolean {
  // The faces tell the version that package.json names; everything else outside the rooms is out of bounds.
  if (target === join(root, 'package.json')) return room === 'cli' || room === 'action'
  return allowed[room].some(below => below === roomOf(target))
}

describe('imports point one way', () => {
  it.each(rooms)('%s imports only the rooms below it', room => {
    const files = sources(join(root, room))
    expect(files.length).toBeGreaterThan(3)
    const wrong = files.flatMap(file =>
      importsOf(readFileSync(file, 'utf8'))
        .filter(name => name.startsWith('.'))
        .map(name => resolve(dirname(file), name))
        .filter(target => roomOf(target) !== room && !mayImport(room, target))
        .map(target => `${relative(root, file)} -> ${relative(root, target)}`),
    )
    expect(wrong).toEqual([])
  })

  it('policy uses no Node module and no package that needs one', () => {
    const packages = new Set(
      sources(join(root, 'policy')).flatMap(file =>
        importsOf(readFileSync(file, 'utf8')).filter(name => !name.startsWith('.')),
      ),
    )
    expect([...packages].filter(name => name.startsWith('node:'))).toEqual([])
    expect([...packages].sort()).toEqual(expect.arrayContaining(['yaml', 'zod']))
  })

  it('sees static, dynamic and re-exported imports', () => {
    const text = `import a from 'one'\nexport { b } from "two"\nconst c = await import('three')\nimport 'four'\n`
    expect(importsOf(text)).toEqual(['one', 'two', 'three', 'four'])
  })
})
