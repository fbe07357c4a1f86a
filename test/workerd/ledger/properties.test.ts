import { propertySuite } from '../../ledger/suites/properties.ts'
import { durableObjectEngine } from './durable-object-engine.ts'

propertySuite(durableObjectEngine, 40)
