import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, useRoom } from './support.ts'

describeEngines('the kernel as a container sees it', one => {
  const room = useRoom(one)

  it('refuses what takes a capability or leaves the sandbox', async () => {
    const refused = [
      ['mount-tmpfs', '/tmp'],
      ['mount-bind', '/proc', '/tmp'],
      ['remount', '/'],
      ['remount', '/workspace'],
      ['umount', '/workspace'],
      ['unshare', 'user'],
      ['unshare', 'mount'],
      ['unshare', 'net'],
      ['unshare', 'pid'],
      ['clone-user'],
      ['chroot', '/tmp'],
      ['setuid'],
      ['mknod', '/tmp/device'],
      ['socket-raw'],
      ['socket-packet'],
      ['keyctl'],
      ['bpf'],
      ['settime'],
      ['sethostname'],
      ['reboot'],
      ['init-module'],
    ]
    const said = await attempts(room, refused)
    // A filter may also say that there is no such call.
    for (const words of refused) expect(['EPERM', 'ENOSYS'], words.join(' ')).toContain(said[words.join(' ')])
  })

  it('reaches no process but its own: the first one that it can trace is its own too', async () => {
    const script = 'cd /proc; echo [0-9]*; readlink /proc/1/exe; exec /bin/probe each ptrace 1 , ptrace 2 , ptrace 1000'
    const { stdout } = await room.probe(['-c', script], { command: '/bin/sh' })
    expect(stdout).toBe('1\n/bin/busybox\nptrace 1: ok\nptrace 2: ESRCH\nptrace 1000: ESRCH\n')
  })

  it('runs as 65532 without a capability, without a way to new privileges, under the default seccomp filter', async () => {
    const { stdout } = await room.probe(['show', '/proc/self/status'])
    const status = Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map(line => line.split(':\t') as [string, string]),
    )
    expect(status).toMatchObject({
      Uid: '65532\t65532\t65532\t65532',
      Gid: '65532\t65532\t65532\t65532',
      NoNewPrivs: '1',
      Seccomp: '2',
      ...Object.fromEntries(['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(name => [name, '0'.repeat(16)])),
    })
    expect(['', '65532']).toContain((status['Groups'] ?? '').trim())
  })

  it('gains nothing from a setuid program, of root or of another', async () => {
    const files = (root: string) => {
      mkdirSync(path.join(root, 'bin'))
      copyFileSync(one.engines.probe, path.join(root, 'bin/suid'))
      chmodSync(path.join(root, 'bin/suid'), 0o6755)
    }
    const image = (await makeImage(one.engines, { name: 'setuid', files }))[one.engine.kind]
    const { stdout } = await room.probe(['each', 'uid', ',', 'setuid'], {
      imageReference: image.reference,
      command: '/bin/suid',
    })
    expect(stdout).toBe('uid: 65532\nsetuid: EPERM\n')
  })
})
