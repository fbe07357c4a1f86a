import { propertySuite } from './suites/properties.ts'
import { nodeEngine } from './support/node-engine.ts'

propertySuite(nodeEngine, 100)
