import { longExportSuite } from './suites/long-export.ts'

longExportSuite(100_000)
