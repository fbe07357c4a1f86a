export { type EventName, type EventPayload, pauseMarker } from './events.ts'
export { bodyLimitBytes } from './gates.ts'
export { webhookRoute } from './route.ts'
