// A bundled CommonJS package has no named exports when it is imported dynamically; this module gives them back, so that
// undici can stay in a chunk of its own that only the first call loads.
export { Agent, type Dispatcher, EnvHttpProxyAgent, fetch } from 'undici'
