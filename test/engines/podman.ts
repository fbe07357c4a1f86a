import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { plainEnvironment } from './docker.ts'
import { type Server, serve, whenItAnswers } from './processes.ts'

/** Members of cgroup v2 where it is mounted beside v1, which crun refuses. */
const beside = '/sys/fs/cgroup/unified/cgroup.procs'

/**
 * Podman with its storage and state below one directory, and its API on a socket there. Its runtime is crun, Debian's
 * default for it (Docker's is runc), or what AGENTCTL_TEST_PODMAN_RUNTIME names; without systemd there is cgroupfs only; the compiled-in nofile and nproc are above what
 * such hosts allow.
 */
export async function startPodman(
  directory: string,
): Promise<{ server: Server; socket: string; dataRoot: string; env: { [name: string]: string } }> {
  const at = (name: string) => path.join(directory, 'podman', name)
  for (const name of ['', 'data', 'run', 'tmp', 'images']) mkdirSync(at(name), { mode: 0o711 })
  const runtime = process.env['AGENTCTL_TEST_PODMAN_RUNTIME'] ?? 'crun'
  writeFileSync(at('containers.conf'), containersConf(at, runtime))
  const source = path.join(import.meta.dirname, 'crun.c')
  if (existsSync(beside)) await promisify(execFile)('gcc', ['-static', '-O1', '-Wall', '-o', at('crun'), source])
  else copyFileSync('/usr/bin/crun', at('crun'))
  writeFileSync(
    at('storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${at('data')}"\nrunroot = "${at('run')}"\n`,
  )
  const env = {
    ...plainEnvironment(directory),
    CONTAINERS_CONF: at('containers.conf'),
    CONTAINERS_STORAGE_CONF: at('storage.conf'),
  }
  const socket = at('s')
  const args = ['system', 'service', '--time=0', `unix://${socket}`]
  // What a container must not be given, though its engine has it.
  const proxy = 'http://192.0.2.1:3128'
  const service = { ...env, HTTP_PROXY: proxy, http_proxy: proxy }
  const server = serve('podman system service', '/usr/bin/podman', args, service, at('log'))
  await whenItAnswers(server, { socketPath: socket }, '/_ping')
  return { server, socket, dataRoot: at('data'), env }
}

function containersConf(at: (name: string) => string, runtime: string): string {
  return `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "${runtime}"
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
tmp_dir = "${at('tmp')}"
image_copy_tmp_dir = "${at('images')}"
[engine.runtimes]
crun = ["${at('crun')}"]
`
}
