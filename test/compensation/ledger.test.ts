import { nodeEngine } from '../ledger/support/node-engine.ts'
import { compensationSuite } from './suite.ts'

compensationSuite(nodeEngine)
