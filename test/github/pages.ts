import { Hono } from 'hono'
import type { Repositories } from './repositories.ts'
import type { Runs } from './runner/runs.ts'
import type { RunAttempt } from './runner/state.ts'

/** The few web pages that links lead to, plain: an issue with its comments, a run with its jobs. */
export function pages(repositories: Repositories, runs: Runs): Hono {
  const hono = new Hono()
  const page = (title: string, body: string) =>
    `<!doctype html><meta charset="utf-8"><title>${escaped(title)}</title><h1>${escaped(title)}</h1>${body}`
  hono.get('/:owner/:repo/:kind{issues|pull}/:number{[0-9]+}', (context, next) => {
    if (isApi(context.req.path)) return next()
    const repository = repositories.exact(context.req.param('owner'), context.req.param('repo'))
    const issue = repository?.record.issues.find(one => one.number === Number(context.req.param('number')) && !one.gone)
    if (!issue) return context.notFound()
    const comments = issue.comments
      .map(one => `<h2>${escaped(one.user.login)}</h2><pre>${escaped(one.body)}</pre>`)
      .join('')
    return context.html(
      page(`${issue.title} #${issue.number} (${issue.state})`, `<pre>${escaped(issue.body)}</pre>${comments}`),
    )
  })
  hono.get('/:owner/:repo/actions/runs/:run{[0-9]+}', (context, next) => {
    if (isApi(context.req.path)) return next()
    const run = runs.all.find(one => one.id === Number(context.req.param('run')))
    if (!run) return context.notFound()
    return context.html(page(`${run.workflow.name} #${run.number}`, run.attempts.map(attemptOf).join('')))
  })
  hono.get('/:owner/:repo/actions/runs/:run{[0-9]+}/attempts/:attempt{[0-9]+}', (context, next) => {
    if (isApi(context.req.path)) return next()
    const run = runs.all.find(one => one.id === Number(context.req.param('run')))
    const attempt = run?.attempts[Number(context.req.param('attempt')) - 1]
    if (!run || !attempt) return context.notFound()
    return context.html(page(`${run.workflow.name} #${run.number}`, attemptOf(attempt)))
  })
  return hono
}

function attemptOf({ number, status, conclusion, jobs }: RunAttempt): string {
  const lines = jobs.map(job => `<li>${escaped(job.name)}: ${job.conclusion ?? job.status}</li>`)
  return `<h2>Attempt ${number}: ${conclusion ?? status}</h2><ul>${lines.join('')}</ul>`
}

/** API paths by repository id look like pages of a repository named by a number. */
const isApi = (path: string): boolean => path.startsWith('/repositories/')

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
