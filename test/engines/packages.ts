import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What each Debian package is here for: a program that is there once it is installed. */
const programs: { [program: string]: string } = {
  '/usr/sbin/dockerd': 'docker.io',
  '/usr/bin/docker': 'docker.io',
  '/usr/bin/podman': 'podman',
  '/usr/sbin/runc': 'runc',
  '/usr/bin/crun': 'crun',
  '/usr/bin/conmon': 'conmon',
  '/usr/bin/docker-registry': 'docker-registry',
  '/bin/busybox': 'busybox-static',
  '/usr/bin/gcc': 'gcc',
  '/usr/include/stdio.h': 'libc6-dev',
}
const policyFile = '/usr/sbin/policy-rc.d'
const apt = ['-qq', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300']

/** Why engines cannot be had on this host; null where they can. */
export function whyNoEngines(): string | null {
  if (process.platform !== 'linux' || !existsSync('/etc/debian_version')) return 'this host is not Debian'
  if (process.getuid?.() !== 0) return 'this user is not root'
  return null
}

/** Installs what is missing of the engines and of the tools that images are made with; a few milliseconds when nothing is. */
export async function installPackages(): Promise<void> {
  const isMissing = (program: string) => !existsSync(program) || (program === '/bin/busybox' && !isStatic(program))
  const missing = Object.entries(programs).flatMap(([program, name]) => (isMissing(program) ? [name] : []))
  if (missing.length === 0) return
  const restore = forbidServices()
  try {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' }, maxBuffer: 1 << 26 }
    await run('apt-get', ['-qq', 'update'], options)
    await run('apt-get', [...apt, 'install', ...new Set(missing)], options)
  } finally {
    restore()
  }
}

/** The packages start an engine for the whole host where nobody forbids it; these tests have their own. */
function forbidServices(): () => void {
  if (existsSync(policyFile)) return () => {}
  writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  return () => rmSync(policyFile, { force: true })
}

/** Debian's other busybox is linked dynamically, and an image has no libraries: it names an interpreter. */
function isStatic(program: string): boolean {
  return !readFileSync(program).subarray(0, 4096).includes('ld-linux')
}
