import { cloudflareTest } from '@cloudflare/vitest-plugin'
import { defineProject } from 'vitest/config'

/** Tests that run inside workerd, on SQLite-backed Durable Objects. */
export default defineProject({
  plugins: [cloudflareTest({ wrangler: { configPath: './wrangler.jsonc' } })],
  test: { name: 'workerd', include: ['**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 },
})
