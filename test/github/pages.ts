import { Hono } from 'hono'
import type { Repositories } from './repositories.ts'
import type { Runs } from './runner/runs.ts'

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
    const attempts = run.attempts.map(attempt => {
      const jobs = attempt.jobs.map(job => `<li>${escaped(job.name)}: ${job.conclusion ?? job.status}</li>`).join('')
      return `<h2>Attempt ${attempt.number}: ${attempt.conclusion ?? attempt.status}</h2><ul>${jobs}</ul>`
    })
    return context.html(page(`${run.workflow.name} #${run.number}`, attempts.join('')))
  })
  return hono
}

/** API paths by repository id look like pages of a repository named by a number. */
const isApi = (path: string): boolean => path.startsWith('/repositories/')

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
