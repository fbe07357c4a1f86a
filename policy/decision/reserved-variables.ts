const reserved: ReadonlySet<string> = new Set([
  'HOME',
  'PATH',
  'RUNNER_TRACKING_ID',
  'ACTIONS_RUNTIME_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
  'ACTIONS_ID_TOKEN_REQUEST_URL',
  'ACTIONS_RUNTIME_URL',
  'ACTIONS_RESULTS_URL',
  'ACTIONS_CACHE_URL',
])
const reservedPrefixes = ['ACTIONS_', 'INPUT_', 'DOCKER_', 'CONTAINER_', 'PODMAN_', 'TMP', 'XDG_'] as const

/** The runner's credentials and the engine's own variables: never handed to a container, whatever a policy allows. */
export function isReservedVariable(name: string): boolean {
  const upper = name.toUpperCase()
  return reserved.has(upper) || reservedPrefixes.some(prefix => upper.startsWith(prefix))
}
