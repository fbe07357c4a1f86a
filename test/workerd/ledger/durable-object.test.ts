import { approvalSuite } from '../../ledger/suites/approvals.ts'
import { auditSuite } from '../../ledger/suites/audit.ts'
import { leaseSuite } from '../../ledger/suites/leases.ts'
import { lifecycleSuite } from '../../ledger/suites/lifecycle.ts'
import { storageSuite } from '../../ledger/suites/storage.ts'
import { durableObjectEngine } from './durable-object-engine.ts'

lifecycleSuite(durableObjectEngine)
approvalSuite(durableObjectEngine)
leaseSuite(durableObjectEngine)
storageSuite(durableObjectEngine)
auditSuite(durableObjectEngine)
