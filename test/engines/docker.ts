import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Server, serve, whenItAnswers } from './processes.ts'

/** A dockerd with everything of its own below one directory, without a bridge and without a rule of a firewall. */
export async function startDocker(
  directory: string,
  cgroup: string,
): Promise<{ server: Server; socket: string; dataRoot: string }> {
  const at = (name: string) => path.join(directory, 'docker', name)
  mkdirSync(path.join(directory, 'docker'), { mode: 0o711 })
  const [socket, dataRoot] = [at('s'), at('data')]
  writeFileSync(at('daemon.json'), '{}')
  const args = [
    `--host=unix://${socket}`,
    `--data-root=${dataRoot}`,
    `--exec-root=${at('x')}`,
    `--pidfile=${at('pid')}`,
    `--config-file=${at('daemon.json')}`,
    `--cgroup-parent=/${cgroup}`,
    '--exec-opt=native.cgroupdriver=cgroupfs',
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--live-restore=false',
  ]
  const server = serve('dockerd', '/usr/sbin/dockerd', args, plainEnvironment(directory), at('log'))
  await whenItAnswers(server, { socketPath: socket }, '/_ping')
  return { server, socket, dataRoot }
}

/** What an engine needs of an environment: its programs, and a home that is not the user's. */
export function plainEnvironment(directory: string): { [name: string]: string } {
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: directory, LC_ALL: 'C' }
}
