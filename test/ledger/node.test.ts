import { lifecycleSuite } from './suites/lifecycle.ts'
import { nodeEngine } from './support/node-engine.ts'

lifecycleSuite(nodeEngine)
