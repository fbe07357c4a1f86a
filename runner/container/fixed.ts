import path from 'node:path'
import type { CheckedImage, ContainerSpec } from './engine.ts'

/** What no document can change (03, Container). */
export const user = 65_532
export const hostname = 'agentctl'
export const workspace = '/workspace'
export const tmpBytes = 16_777_216
/** Files and directories in /tmp, where the engine can bound them. */
export const tmpInodes = 4_096
export const openFiles = 4_096
export const cpuPeriodMicroseconds = 1_000_000

/** Where an image sets no PATH. */
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The whole environment inside: the declared variables, the image's PATH, HOSTNAME, HOME. */
export function environmentOf({ environment, image }: Pick<ContainerSpec, 'environment' | 'image'>): {
  [name: string]: string
} {
  return { ...environment, PATH: image.path ?? defaultPath, HOSTNAME: hostname, HOME: '/tmp' }
}

/** Variables of the image that a container must not have. */
export function unsetVariables(image: CheckedImage, environment: { readonly [name: string]: string }): string[] {
  return image.variables.filter(name => !Object.hasOwn(environment, name))
}

/** Mount points that would be writable, by anyone or by root alone, unless something read-only covers them. */
export function coveredPlaces({ volumes }: CheckedImage): string[] {
  const own = new Set([workspace, '/tmp'])
  const places = ['/dev/mqueue', ...volumes.map(place => path.posix.join('/', place).replace(/(?<=.)\/$/, ''))]
  return [...new Set(places)].filter(place => !own.has(place))
}

/** CFS quota for a thousandth of a CPU each, in microseconds per period. */
export function quotaOf({ cpuLimitMillis }: Pick<ContainerSpec, 'cpuLimitMillis'>): number {
  return cpuLimitMillis * 1_000
}
