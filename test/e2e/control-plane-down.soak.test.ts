import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane } from '../harness/control-plane.ts'
import { type FaultyProxy, startFaultyProxy } from '../harness/faulty-proxy.ts'
import { gatedWrite, openStage, type Stage } from './stage.ts'

/** The real patience of one call, which control-plane-down.test.ts does not wait for. */
let stage: Stage
let proxy: FaultyProxy
beforeAll(async () => {
  proxy = await startFaultyProxy()
  stage = await openStage({
    controlPlane: async github => {
      const real = await startControlPlane(github, { environment: { AGENTCTL_PUBLIC_URL: proxy.url } })
      proxy.target(real.url)
      return { ...real, url: proxy.url }
    },
  })
})
afterAll(async () => {
  await stage.close()
  await proxy.close()
})

test('nobody answers an attach: tried for a minute with growing pauses, then exit 5 with what to do', async () => {
  proxy.add({ route: /^POST \/v1\/attach$/, how: 'drop before', times: 10_000 })
  const began = performance.now()
  const play = await stage.begin({ spec: gatedWrite, complete: false })
  await play.handle.completed(1, 120_000)
  const seconds = (performance.now() - began) / 1000
  expect(play.step().exitCode, play.step().log).toBe(5)
  expect(play.step().log).toMatch(/\(\d+ tries\); nothing acknowledged is lost; re-run the job/)
  const tries = proxy.calls.filter(call => call === 'POST /v1/attach').length
  // Pauses double up to 8 s: some ten to thirty tries in a minute, never a storm.
  expect(tries).toBeGreaterThan(8)
  expect(tries).toBeLessThan(30)
  expect(seconds).toBeGreaterThan(40)
  expect(seconds).toBeLessThan(100)
  proxy.clear()
  await play.again()
  expect(play.step()).toMatchObject({ exitCode: 3, outputs: { status: 'paused' } })
})
