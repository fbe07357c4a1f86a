import { defineConfig } from 'vitest/config'

// Real processes, SQLite files and HTTP servers share two cores in CI, hence the generous limits.
const shared = { testTimeout: 60_000, hookTimeout: 120_000, pool: 'forks' as const }

// Need Docker and Podman, which one set-up starts for all of them.
const onEngines = ['test/engines/**/*.test.ts', 'test/container/**/*.test.ts']

export default defineConfig({
  test: {
    projects: [
      'test/workerd/vitest.workerd.config.ts',
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.soak.test.ts', 'test/workerd/**', ...onEngines],
        },
      },
      {
        test: {
          ...shared,
          name: 'engines',
          include: onEngines,
          exclude: ['test/**/*.soak.test.ts'],
          globalSetup: 'test/engines/global-setup.ts',
          fileParallelism: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'soak',
          include: ['test/**/*.soak.test.ts'],
          exclude: onEngines,
          testTimeout: 3_600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'soak-engines',
          include: ['test/container/**/*.soak.test.ts'],
          globalSetup: 'test/engines/global-setup.ts',
          fileParallelism: false,
          testTimeout: 3_600_000,
        },
      },
    ],
  },
})
