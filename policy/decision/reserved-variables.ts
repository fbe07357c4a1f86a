const reserved: ReadonlySet<string> = new Set(['HOME', 'PATH'])

/** The runner's credentials and surroundings, and the engine's own variables (02, Environment). */
const reservedPrefixes = [
  'ACTIONS_',
  'INPUT_',
  'RUNNER_',
  'DOCKER_',
  'CONTAINER_',
  'CONTAINERS_',
  'PODMAN_',
  'TMP',
  'XDG_',
] as const

/** The runner's credentials and the engine's own variables: never handed to a container, whatever a policy allows. */
export function isReservedVariable(name: string): boolean {
  const upper = name.toUpperCase()
  return reserved.has(upper) || reservedPrefixes.some(prefix => upper.startsWith(prefix))
}
