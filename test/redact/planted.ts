import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { JsonObject } from '../../policy/json.ts'

/** Two secrets of a job: one that every encoder treats in its own way, and one that can be a part of a path. */
export const secrets = {
  KEY: "-----BEGIN KEY-----\nMIIEvQ+IBADANBg/kq\"hki\\G9w0\n<BAQEFAASC> & '€ü'\n-----END KEY-----",
  PLACE: 'hidden-place-7f3a91',
}

const lines = [...secrets.KEY.split('\n'), secrets.PLACE]
const forms = [secrets.KEY, ...lines].flatMap(text => [
  text,
  Buffer.from(text).toString('base64').replace(/=+$/, ''),
  Buffer.from(text).toString('base64url'),
  encodeURIComponent(text),
  JSON.stringify(text).slice(1, -1),
])
/** Text of a line that no other text has by chance. */
const planted = [...new Set(forms)].filter(form => form.length >= 8)

/** Fails where a surface shows either secret, in any form. */
export function expectClean(surface: string, text: string): void {
  for (const form of planted) {
    const at = text.indexOf(form)
    expect(at < 0 ? '' : `${surface}: ...${text.slice(Math.max(0, at - 200), at + form.length)}`).toBe('')
  }
}

/** The same for every file below a directory, byte by byte. */
export function expectCleanFiles(directory: string, skipped: (place: string) => boolean = () => false): string[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map(name => path.join(directory, name))
    .filter(place => !skipped(place) && statSync(place).isFile())
  for (const place of files) expectClean(`file ${path.basename(place)}`, readFileSync(place).toString('latin1'))
  for (const place of files) expectClean(`file ${path.basename(place)}`, readFileSync(place).toString('utf8'))
  return files
}

/** Prints the secrets in every way, on both streams, piece by piece too. */
const printing = [
  'printf "%s\\n" "$KEY" "place: $PLACE"',
  'printf "%s" "$KEY" | base64',
  'printf "prefix%s" "$KEY" | base64 -w 20',
  'printf "%s" "$PLACE" | base64 -w0; echo',
  'printf "%s" "$KEY" | while IFS= read -r line; do echo "> $line"; done',
  'printf "{\\"%s\\": \\"%s\\"}\\n" "$PLACE" "$PLACE"',
  'printf hidden-pl; sleep 0.1; printf "ace-7f3a91\\n"',
  'printf "error: %s\\n" "$KEY" >&2',
  'echo "::error title=$PLACE::$PLACE"',
].join('; ')

const env = { KEY: { env: 'KEY' }, PLACE: { env: 'PLACE' } }
const shell = (script: string, more: JsonObject = {}): JsonObject => ({
  kind: 'builtin.shell.exec',
  command: '/bin/sh',
  args: ['-c', script],
  env,
  ...more,
})

/**
 * A document that shows its secrets in every place that a document can: output, exit messages, artifacts and their names,
 * a file that is read, a key, the text of a failed assertion, outputs of the run.
 */
export const leaking: JsonObject = {
  policy: {
    approval: 'never',
    writableRoots: ['out'],
    processAllowlist: ['sh'],
    environmentAllowlist: ['KEY', 'PLACE'],
  },
  outputs: { printed: '${{ tasks.print.output }}', read: '${{ tasks.read.output }}' },
  actions: {
    print: shell(printing),
    exit: shell(`${printing}; exit 3`),
    killed: shell(`${printing}; kill -9 $$`),
    artifact: shell('mkdir -p out; echo x > "out/$PLACE"', { artifacts: ['out/**'] }),
    content: shell('mkdir -p out; rm -f "out/$PLACE"; printf "%s" "$KEY" > out/content', { artifacts: ['out/**'] }),
    place: shell('printf "%s" "$KEY" > file; rm -f out/content'),
    absent: { ...shell(''), command: './absent', args: [] },
    read: { kind: 'builtin.read', with: { path: 'file' } },
    write: { kind: 'builtin.write' },
    assert: { kind: 'builtin.assert' },
  },
  tasks: [
    { id: 'print', uses: 'action:print' },
    { id: 'exit', uses: 'action:exit', failure: 'continue' },
    { id: 'killed', uses: 'action:killed', failure: 'continue' },
    { id: 'artifact', uses: 'action:artifact', failure: 'continue' },
    { id: 'content', uses: 'action:content', failure: 'continue' },
    { id: 'absent', uses: 'action:absent', failure: 'continue' },
    { id: 'place', uses: 'action:place' },
    { id: 'read', uses: 'action:read', needs: ['place'] },
    {
      id: 'write',
      uses: 'action:write',
      needs: ['print', 'read'],
      with: { path: 'out/copy', content: '${{ tasks.read.output.content }} of ${{ tasks.print.output.stdout }}' },
    },
    {
      id: 'assert',
      uses: 'action:assert',
      needs: ['print'],
      failure: 'continue',
      with: { that: false, message: 'wrong: ${{ tasks.print.output.stdout }}' },
    },
  ],
}

/** A write over a file that holds the secrets, a program whose place is one, and a process that prints: all wait for a person. */
export const gatedLeaking: JsonObject = {
  policy: {
    approval: 'mutations',
    writableRoots: ['out'],
    processAllowlist: ['sh', 'tool'],
    environmentAllowlist: ['KEY', 'PLACE'],
  },
  outputs: { printed: '${{ tasks.print.output }}' },
  actions: {
    print: shell(printing),
    tool: { ...shell(''), command: './tool', args: ['token'] },
    write: { kind: 'builtin.write' },
  },
  tasks: [
    { id: 'write', uses: 'action:write', with: { path: 'out/file', content: 'no secret any more\n' } },
    { id: 'tool', uses: 'action:tool' },
    { id: 'print', uses: 'action:print' },
  ],
}

/** The same without the program, which nobody may run below /tmp. */
export const gatedWithoutProgram: JsonObject = {
  ...gatedLeaking,
  tasks: (gatedLeaking['tasks'] as JsonObject[]).filter(({ id }) => id !== 'tool'),
}

/** Files that the gated document finds. */
export const gatedFiles: { [path: string]: string } = {
  'out/file': `before\n${secrets.KEY}\nplace ${secrets.PLACE}\nafter\n`,
  tool: '#!/bin/sh\necho "$KEY at $0 in $(pwd) as $PLACE"\n',
  token: 'named like a secret, and none\n',
}
