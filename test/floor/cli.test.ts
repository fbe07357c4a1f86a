import { afterEach, beforeEach, expect, it } from 'vitest'
import { planOf } from '../../cli/document.ts'
import { FindingsError } from '../../cli/failure.ts'
import { documentOptionsSchema } from '../../cli/options.ts'
import { type Floor, parseFloor } from '../../policy/decision/index.ts'
import type { JsonObject } from '../../policy/json.ts'
import { createDesk, type Desk, script } from '../cli/support.ts'

let desk: Desk
beforeEach(() => {
  desk = createDesk()
  desk.put('flow.yaml', script('exit 0'))
})
afterEach(() => desk.dispose())

function hostFloor(spec: JsonObject): Floor {
  const parsed = parseFloor(
    { apiVersion: 'agentctl.dev/v1', kind: 'SecurityFloor', metadata: { name: 'h' }, spec },
    'host',
  )
  if (!parsed.ok) throw new Error(parsed.message)
  return parsed.floor
}

/** The plan of a run on a host with this floor; the findings where there is none. */
async function planned(spec: JsonObject): Promise<string[]> {
  const options = { workspace: '.', db: 'runtime.db', output: 'json', color: 'never' } as const
  const context = { directory: desk.directory, options } as Parameters<typeof planOf>[0]
  try {
    const { plan } = await planOf(context, 'flow.yaml', documentOptionsSchema.parse({}), hostFloor(spec))
    return [String(plan.tasks['script']?.timeoutSeconds)]
  } catch (error) {
    if (!(error instanceof FindingsError)) throw error
    return error.findings.map(({ code, message }) => `${code} ${message}`)
  }
}

it.each<[JsonObject, RegExp]>([
  [{ minimumIsolation: 'container' }, /^floor_violation isolation `process` .* set by host requires$/],
  [
    { policy: { processAllowlist: ['git'] } },
    /^floor_violation policy\.processAllowlist asks for `sh`, .* set by host /,
  ],
  [{ policy: { writableRoots: [] } }, /^floor_violation policy\.writableRoots asks for `out`, .* set by host /],
])('a document beyond the floor of its host %j makes no run there', async (spec, message) => {
  expect(await planned(spec)).toEqual([expect.stringMatching(message)])
})

it('a limit of the host holds for what nobody wrote', async () => {
  expect(await planned({ limits: { timeoutSeconds: 7 } })).toEqual(['7'])
  expect(await planned({})).toEqual(['120'])
})
