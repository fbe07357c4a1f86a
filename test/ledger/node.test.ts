import { approvalSuite } from './suites/approvals.ts'
import { auditSuite } from './suites/audit.ts'
import { leaseSuite } from './suites/leases.ts'
import { lifecycleSuite } from './suites/lifecycle.ts'
import { storageSuite } from './suites/storage.ts'
import { nodeEngine } from './support/node-engine.ts'

lifecycleSuite(nodeEngine)
approvalSuite(nodeEngine)
leaseSuite(nodeEngine)
storageSuite(nodeEngine)
auditSuite(nodeEngine)
