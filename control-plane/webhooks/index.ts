export type { EventName, EventPayload } from './events.ts'
export { bodyLimitBytes } from './gates.ts'
export { webhookRoute } from './route.ts'
