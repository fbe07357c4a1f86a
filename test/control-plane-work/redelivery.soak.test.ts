import { test } from 'vitest'
import { redeliver } from './redelivery.ts'

test('1,000 concurrent redeliveries of one approving comment: no extra dispatch', () => redeliver(1000))
