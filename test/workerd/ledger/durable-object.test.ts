import { compensationSuite } from '../../compensation/suite.ts'
import { approvalSuite } from '../../ledger/suites/approvals.ts'
import { auditSuite } from '../../ledger/suites/audit.ts'
import { leaseSuite } from '../../ledger/suites/leases.ts'
import { lifecycleSuite } from '../../ledger/suites/lifecycle.ts'
import { storageSuite } from '../../ledger/suites/storage.ts'
import { longTermSuite } from '../../long-term-memory/suite.ts'
import { durableObjectEngine } from './durable-object-engine.ts'

lifecycleSuite(durableObjectEngine)
approvalSuite(durableObjectEngine)
leaseSuite(durableObjectEngine)
storageSuite(durableObjectEngine)
auditSuite(durableObjectEngine)
longTermSuite(durableObjectEngine)
compensationSuite(durableObjectEngine)
