/**
 * The parent of a private Podman service, run by `node -e` with koffi's file, agentctl's pid, the socket's directory and the
 * command. Podman leaves one monitor for each container to whoever adopts orphans: that must not be agentctl, which takes
 * orphans for an effect's. It ends with agentctl, and the service and the directory with it.
 */
export const keeperCode = `
const { spawn } = require('node:child_process')
const { readFileSync, rmSync } = require('node:fs')
const [koffiFile, parent, directory, command, ...args] = process.argv.slice(1)
let reap = () => {}
if (koffiFile !== '') {
  const libc = require(koffiFile).load('libc.so.6')
  const prctl = libc.func('int prctl(int, ulong, ulong, ulong, ulong)')
  const waitpid = libc.func('int waitpid(int, void *, int)')
  prctl(36, 1, 0, 0, 0) // PR_SET_CHILD_SUBREAPER
  prctl(1, 15, 0, 0, 0) // PR_SET_PDEATHSIG
  reap = own => {
    for (const pid of readFileSync('/proc/thread-self/children', 'latin1').split(' ').filter(Boolean).map(Number))
      if (pid !== own) waitpid(pid, null, 1)
  }
}
const end = code => {
  rmSync(directory, { recursive: true, force: true })
  process.exit(code)
}
let service = null
const stop = () => {
  if (service === null) end(0)
  service.kill('SIGTERM')
  setTimeout(() => service.kill('SIGKILL'), 1000)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, stop)
process.stdin.on('end', stop).on('error', stop)
process.stdin.once('data', () => {
  if (String(process.ppid) !== parent) end(0)
  service = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  service.on('error', error => {
    console.error(error.message)
    end(1)
  })
  service.on('exit', code => end(code ?? 1))
  setInterval(() => reap(service.pid), 1000)
})
`
