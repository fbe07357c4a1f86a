import { longExportSuite } from './suites/long-export.ts'

longExportSuite(20_000)
