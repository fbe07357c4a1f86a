import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyAudit } from '../../ledger/index.ts'
import type { Issue, StepResult } from '../github/index.ts'
import type { Scene } from '../harness/scene.ts'
import { decideByHand } from './by-hand.ts'
import { containerStep } from './container.ts'
import { scene as heading, indented, line } from './print.ts'
import { deniedPath, releasePath } from './stage.ts'

/** Fails the demo: it must never claim what it did not see. */
function must(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`the demo did not see: ${what}`)
}

/** Plays the loop from the refused step to the verified chain, then a container, and checks every claim that it prints. */
export async function story(scene: Scene, options: { interactive: boolean; keep: boolean }): Promise<void> {
  const started = performance.now()
  await deny(scene)
  const paused = await pause(scene)
  const goesOn = await decide(scene, paused, options.interactive)
  if (goesOn) await resume(scene, paused)
  else await end(scene, paused)
  await audit(scene, paused.run)
  await containerStep()
  scene.github.assertValid()
  line(
    `Done in ${((performance.now() - started) / 1000).toFixed(1)} s; every request and answer fitted GitHub's published description.`,
  )
  if (options.keep) await keep(scene)
}

async function deny(scene: Scene): Promise<void> {
  heading('A step that policy refuses')
  const run = scene.github.startRun(scene.repository, deniedPath, { event: 'workflow_dispatch', actor: 'alice' })
  await run.completed()
  const step = run.action()
  must(step.exitCode === 3, `exit code 3 of the refused step, it was ${step.exitCode}\n${step.log}`)
  must(step.outputs['status'] === 'denied', 'status denied')
  line(
    `exit ${step.exitCode}, status ${step.outputs['status']}, no issue: nobody is asked about what no approval can permit`,
  )
  indented(messages(step))
}

interface Paused {
  handle: ReturnType<Scene['github']['startRun']>
  issue: Issue
  workspace: string
  run: string
}

async function pause(scene: Scene): Promise<Paused> {
  heading('A release: what is allowed runs, what a person must decide pauses')
  const run = scene.github.startRun(scene.repository, releasePath, { event: 'workflow_dispatch', actor: 'alice' })
  const attempt = await run.completed()
  const step = run.action()
  must(
    step.exitCode === 3 && step.outputs['status'] === 'paused',
    `a pause with exit code 3, it was ${step.exitCode}\n${step.log}`,
  )
  const issue = await scene.approvalIssue()
  const job = attempt.jobs[0]
  must(job?.workspace, 'the workspace of the first attempt')
  must(!existsSync(join(job.workspace, 'out/RELEASE.md')), 'that nothing was written before the approval')
  line(`exit ${step.exitCode}, the job is over and its runner free; issue #${issue.number} asks: ${issue.title}`)
  indented(
    issue.body
      .replace(/<!--.*?-->\n?/gs, '')
      .split('\n')
      .slice(0, 40)
      .join('\n'),
  )
  return { handle: run, issue, workspace: job.workspace, run: step.outputs['run-id'] ?? '' }
}

/** Comments until everything is resolved; true where the run goes on. */
async function decide(scene: Scene, { issue, run }: Paused, interactive: boolean): Promise<boolean> {
  heading('Who may decide')
  const { github } = scene
  const before = issue.comments.length
  github.comment(issue, github.users.ensure('mallory'), '/approve')
  line('mallory, who has no access, comments: /approve')
  await github.until(() => issue.comments.find(comment => comment.reactions.length > 0))
  github.comment(issue, github.users.ensure('carol'), '/approve looks fine to me')
  line('carol, who may triage but not write, comments: /approve looks fine to me')
  const reply = await github.until(() =>
    issue.comments.slice(before).find(comment => comment.user.type === 'Bot' && comment.body.includes('carol')),
  )
  indented(reply.body.replace(/<!--.*?-->\n?/gs, '').trim())
  must(issue.state === 'open', 'that the issue is still open after an ineligible comment')
  if (interactive) return decideByHand(scene, issue, run)
  const words = '/approve read the diff, ship it'
  github.comment(issue, github.users.ensure('bob'), words)
  line(`bob, who may write, comments: ${words}`)
  return true
}

async function end(scene: Scene, { handle, issue, workspace }: Paused): Promise<void> {
  heading('The signed webhook, and an end')
  await scene.github.until(() => issue.state === 'closed')
  must(handle.run.attempts.length === 1, 'that no job was started again')
  must(!existsSync(join(workspace, 'out/RELEASE.md')), 'that nothing was written')
  line(`issue #${issue.number} is closed with its outcome, no job was started again, out/RELEASE.md was never written`)
}

async function resume(scene: Scene, paused: Paused): Promise<void> {
  heading('The signed webhook, the re-dispatch, the resumed job')
  const { handle, issue } = paused
  await scene.github.until(() => handle.run.attempts.length === 2)
  const attempt = await handle.completed(2)
  const job = attempt.jobs[0]
  const step = handle.action(undefined, 2)
  must(
    step.exitCode === 0 && step.outputs['status'] === 'succeeded',
    `success of the resumed job, it was ${step.exitCode}\n${step.log}`,
  )
  must(job?.workspace && job.workspace !== paused.workspace, 'a new workspace')
  line(
    `attempt 2 of the same job, workspace ${job.workspace === paused.workspace ? 'the old one' : 'a new one'}, exit ${step.exitCode}`,
  )
  indented(`out/RELEASE.md:\n${readFileSync(join(job.workspace, 'out/RELEASE.md'), 'utf8')}`)
  await scene.github.until(() => issue.state === 'closed')
  line(`issue #${issue.number} is closed with its outcome`)
}

async function audit(scene: Scene, run: string): Promise<void> {
  heading('The proof')
  const token = scene.github.tokens.userToServer(scene.github.users.ensure('dave'))
  const address = `${scene.controlPlane.url}/v1/repos/octo/app/audit/export?run=${run}`
  const answer = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
  must(answer.ok, `the audit export, it answered ${answer.status}: ${await answer.clone().text()}`)
  const lines = (await answer.text()).trim().split('\n')
  const verdict = await verifyAudit(lines)
  must(verdict.ok, `a chain that verifies: ${JSON.stringify(verdict)}`)
  line(`dave, who may read, exports ${lines.length} events; the chain verifies, head ${verdict.head.slice(0, 12)}`)
  indented(
    lines
      .map(text => JSON.parse(text) as { chain: string; seq: number; type: string; actor: string })
      .filter(event => event.chain.startsWith('run/'))
      .map(event => `${String(event.seq).padStart(3)}  ${event.type.padEnd(22)} ${event.actor}`)
      .join('\n'),
  )
}

async function keep(scene: Scene): Promise<void> {
  line(`\nControl plane: ${scene.controlPlane.url}   GitHub double: ${scene.github.apiUrl}   (ctrl-c ends)`)
  await new Promise<void>(done => process.once('SIGINT', () => done()))
}

/** The lines of the step's log that explain: errors and what follows from them. */
function messages(step: StepResult): string {
  const told = step.annotations.map(annotation => annotation.message)
  return told.length > 0 ? told.join('\n') : step.log.split('\n').slice(-8).join('\n')
}
