import { OwnCallError, ownFetch } from '../../runner/network/own.ts'

/** One own call with this process' environment, `node call-once.ts URL`: prints the answer or the fault as JSON. */
const url = process.argv[2] ?? ''
try {
  const response = await ownFetch({ origins: [url], environment: process.env, timeoutMs: 10_000 })(url)
  console.log(JSON.stringify({ status: response.status, text: await response.text() }))
} catch (error) {
  if (!(error instanceof OwnCallError)) throw error
  console.log(JSON.stringify({ code: error.code, message: error.message }))
}
