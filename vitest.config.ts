import { defineConfig } from 'vitest/config'

// Real processes, SQLite files and HTTP servers share two cores in CI, hence the generous limits.
const shared = { testTimeout: 60_000, hookTimeout: 120_000, pool: 'forks' as const }

export default defineConfig({
  test: {
    projects: [
      'test/workerd/vitest.workerd.config.ts',
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.soak.test.ts', 'test/workerd/**'],
        },
      },
      { test: { ...shared, name: 'soak', include: ['test/**/*.soak.test.ts'], testTimeout: 3_600_000 } },
    ],
  },
})
