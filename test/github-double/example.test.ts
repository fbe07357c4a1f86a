import { expect, test } from 'vitest'
import { startGitHub, type Workflow } from '../github/index.ts'
import { startReceiver } from './receiver.ts'

/**
 * The whole double in one story: a job opens an issue and fails ("pauses"), a person comments, the signed webhook arrives, the App re-runs
 * the job, and the second attempt succeeds in a new workspace. With `uses: 'agentctl'` for the script step, this is the end-to-end test of agentctl.
 */
test('a job asks, a person answers, the job runs again', async () => {
  // 1. The world: accounts, a repository with a workflow, our App installed on it.
  const github = await startGitHub()
  const alice = github.users.add('alice')
  const gate: Workflow = {
    name: 'gate',
    path: '.github/workflows/gate.yml',
    on: ['push'],
    permissions: { contents: 'read', issues: 'write' },
    jobs: {
      gate: {
        env: { TOKEN: '${{ github.token }}' },
        steps: [
          {
            id: 'ask',
            run: async ({ environment, attempt, setOutput }) => {
              if (attempt > 1) return setOutput('status', 'succeeded')
              const answer = await fetch(
                `${environment['GITHUB_API_URL']}/repos/${environment['GITHUB_REPOSITORY']}/issues`,
                {
                  method: 'POST',
                  headers: { authorization: `Bearer ${environment['TOKEN']}`, 'user-agent': 'gate' },
                  body: JSON.stringify({ title: 'May I?' }),
                },
              )
              setOutput('status', 'paused')
              throw new Error(`asked: ${answer.status}`)
            },
          },
        ],
      },
    },
  }
  const repository = github.repositories.add({
    name: 'octo/app',
    collaborators: { alice: 'write' },
    workflows: [gate],
    files: { 'a.txt': 'a' },
  })

  // 2. Something that listens to webhooks; usually the control plane.
  const receiver = await startReceiver('secret')
  github.deliveries.addHook({ url: receiver.url, secret: 'secret', events: ['issue_comment'] })

  // 3. A run. `completed()` waits for the attempt, without polling.
  const run = github.startRun(repository, gate.path, { actor: alice })
  await run.completed()
  expect(run.job('gate')).toMatchObject({ conclusion: 'failure', outputs: { status: 'paused' } })

  // 4. A person decides; the delivery is signed and logged.
  const issue = await github.until(() => repository.issues[0])
  github.comment(issue, alice, '/approve')
  await github.until(() => receiver.received.find(({ signed }) => signed))

  // 5. The App re-runs the job; the attempt is new, and so are its directories.
  github.runs.rerunJob(run.job('gate'), github.app.record.bot)
  await run.completed(2)
  expect(run.job('gate', 2)).toMatchObject({ conclusion: 'success', outputs: { status: 'succeeded' } })
  expect(run.job('gate', 2).workspace).not.toBe(run.job('gate', 1).workspace)

  // 6. close() ends everything and throws if anyone broke GitHub's description.
  await receiver.close()
  await github.close()
})
