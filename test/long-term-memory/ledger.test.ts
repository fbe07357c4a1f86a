import { nodeEngine } from '../ledger/support/node-engine.ts'
import { longTermSuite } from './suite.ts'

longTermSuite(nodeEngine)
