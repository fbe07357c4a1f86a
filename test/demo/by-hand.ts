import { createInterface } from 'node:readline/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Issue } from '../github/index.ts'
import type { Scene } from '../harness/scene.ts'
import { indented, line } from './print.ts'

/** How long one comment may take to decide something before the person is asked again. */
const patienceMs = 6_000

/** Lets the person at the terminal comment as bob until everything is resolved; true where the run goes on. */
export async function decideByHand(scene: Scene, issue: Issue, run: string): Promise<boolean> {
  const { github } = scene
  for (;;) {
    const words = await ask()
    const known = new Map(issue.comments.map(comment => [comment.id, comment.body]))
    const comment = github.comment(issue, github.users.ensure('bob'), words)
    line(`bob, who may write, comments: ${words}`)
    const outcomes = await resolved(scene, run)
    for (const { id, body, user } of issue.comments)
      if (id !== comment.id && user.type === 'Bot' && known.get(id) !== body)
        indented(body.replace(/<!--.*?-->\n?/gs, '').trim())
    if (outcomes !== null) return outcomes.every(outcome => outcome === 'approved')
    line('Nothing is decided by that; the run still waits.')
  }
}

/** Asks at the terminal; an empty line, or the end of the input, approves. */
async function ask(): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const ended = new Promise<string>(done => terminal.once('close', () => done('')))
    const question = '\nYour turn, as bob. Type a comment for the issue (/approve, /reject, /status, or anything): '
    const words = await Promise.race([terminal.question(question), ended])
    return words.trim() || '/approve'
  } finally {
    terminal.close()
  }
}

/** Outcomes of the run's approvals once none is open; null where one is still open when the patience is over. */
async function resolved({ github, controlPlane }: Scene, run: string): Promise<string[] | null> {
  const authorization = `Bearer ${github.tokens.userToServer(github.users.ensure('dave'))}`
  const until = performance.now() + patienceMs
  while (performance.now() < until) {
    const answer = await fetch(`${controlPlane.url}/v1/repos/octo/app/runs/${run}/approvals`, {
      headers: { authorization },
    })
    if (!answer.ok) throw new Error(`the run's approvals: ${answer.status} ${await answer.text()}`)
    const { items } = (await answer.json()) as { items: { resolution: { outcome: string } | null }[] }
    const outcomes = items.flatMap(({ resolution }) => (resolution === null ? [] : [resolution.outcome]))
    if (outcomes.length === items.length) return outcomes
    await delay(100)
  }
  return null
}
