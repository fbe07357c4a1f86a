import { canonical } from '../../canonical.ts'
import type { CompiledTask, TaskList, Work } from '../compile/work.ts'
import { listsOf } from '../compile/work.ts'
import { nearest } from '../schema/fields.ts'
import { holdsAnyTemplate } from '../template/template.ts'
import type { Path } from '../yaml/tree.ts'
import { refuseFieldsOfActions } from './fields.ts'

/** Checks every router: its cases, and that its destinations exist and depend on it. */
export function checkRouters(work: Work): void {
  for (const list of listsOf(work)) {
    for (const compiled of list.tasks) {
      if (compiled.faulty) continue
      const { task, path } = compiled
      if (task.uses === 'router' && task.route === undefined)
        refuse(work, path, `router \`${task.id}\` has no \`route\``, 'add `route` with `select` and `cases`')
      if (task.uses !== 'router' && task.route !== undefined)
        refuse(work, [...path, 'route'], '`route` stands in a router only', 'write `uses: router`', 'key')
      if (task.uses === 'router' && task.route !== undefined) checkRouter(work, list, compiled, task.route)
    }
  }
}

function checkRouter(
  work: Work,
  list: TaskList,
  compiled: CompiledTask,
  route: NonNullable<CompiledTask['task']['route']>,
): void {
  const { path } = compiled
  refuseFieldsOfActions(work, compiled, { what: 'a router', help: 'leave it out', allowed: [] })
  const seen = new Map<string, number>()
  for (const [index, { equals, tasks }] of route.cases.entries()) {
    const place = [...path, 'route', 'cases', index]
    if (holdsAnyTemplate(equals))
      refuse(work, [...place, 'equals'], '`equals` is data: no template can stand in it', 'write the value itself')
    const key = canonical(equals)
    const first = seen.get(key)
    if (first !== undefined)
      refuse(work, [...place, 'equals'], `case ${first} equals the same value, so this one is never taken`, 'join them')
    seen.set(key, first ?? index)
    checkDestinations(work, list, compiled, tasks, [...place, 'tasks'])
  }
  checkDestinations(work, list, compiled, route.default, [...path, 'route', 'default'])
}

function checkDestinations(
  work: Work,
  list: TaskList,
  router: CompiledTask,
  tasks: readonly string[],
  path: Path,
): void {
  for (const [position, id] of tasks.entries()) {
    const index = list.indexOf.get(id)
    if (index === undefined) {
      if (work.document.lost.has('tasks')) continue
      const close = nearest(id, list.indexOf.size > 1000 ? [] : [...list.indexOf.keys()])
      work.reporter.report([...path, position], {
        code: 'missing_reference',
        message: `router \`${router.task.id}\` leads to \`${id}\`, which is not declared`,
        help: close === null ? 'name a task beside it' : `did you mean \`${close}\`?`,
      })
    } else if (!list.closure.holds(index, router.index)) {
      const message = `destination \`${id}\` does not depend on router \`${router.task.id}\``
      refuse(work, [...path, position], message, `add \`${router.task.id}\` to its needs`)
    }
  }
}

/** For each task of a list, by its index, the routers that have it among their destinations. */
export function routersOf(list: TaskList): ReadonlyMap<number, CompiledTask[]> {
  const routers = new Map<number, CompiledTask[]>()
  for (const compiled of list.tasks) {
    const { route, uses } = compiled.task
    if (route === undefined || uses !== 'router') continue
    for (const id of new Set([...route.cases.flatMap(({ tasks }) => tasks), ...route.default])) {
      const index = list.indexOf.get(id)
      if (index !== undefined) routers.set(index, [...(routers.get(index) ?? []), compiled])
    }
  }
  return routers
}

function refuse(work: Work, path: Path, message: string, help: string, on: 'key' | 'value' = 'value'): void {
  work.reporter.report(path, { code: 'schema_violation', message, help, on })
}
