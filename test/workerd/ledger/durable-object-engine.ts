import { env, runInDurableObject } from 'cloudflare:test'
import { durableObjectSql } from '../../../ledger/index.ts'
import type { Engine } from '../../ledger/support/engine.ts'

/** Storage of real SQLite-backed Durable Objects in workerd: a new object for each test. */
export const durableObjectEngine: Engine = {
  name: 'Durable Object storage',
  async withDisk(body) {
    const object = env.LEDGERS.get(env.LEDGERS.newUniqueId())
    await runInDurableObject(object, async (_, state) => {
      await body({ open: () => durableObjectSql(state.storage) })
    })
  },
}
