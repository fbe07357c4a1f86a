import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, mebibyte, useRoom } from './support.ts'

describeEngines('files of a container', one => {
  const room = useRoom(one)

  it('refuses a write anywhere but in /tmp', async () => {
    writeFileSync(room.file('input'), 'given')
    const places = [
      '/x',
      '/bin/x',
      '/root/x',
      '/etc/passwd',
      '/var/tmp/x',
      '/run/x',
      '/workspace/x',
      '/workspace/input',
    ]
    const said = await attempts(room, [
      ...places.map(place => ['write', place]),
      ['mkdir', '/workspace/d'],
      ['chmod', '/workspace/input'],
      ['write', '/proc/sys/kernel/hostname'],
      ['write', '/proc/sys/vm/drop_caches'],
      ['write', '/proc/sysrq-trigger'],
      ['write', '/sys/kernel/x'],
      ['write', '/sys/fs/cgroup/x'],
      ['write', '/dev/shm/x'],
      ['write', '/dev/mqueue/x'],
      ['write', '/dev/x'],
      ['read', '/workspace/input'],
      ['write', '/tmp/x'],
    ])
    for (const place of places) expect(said[`write ${place}`], place).toBe('EROFS')
    expect(said).toMatchObject({
      'mkdir /workspace/d': 'EROFS',
      'chmod /workspace/input': 'EROFS',
      'write /proc/sys/kernel/hostname': 'EROFS',
      'write /proc/sys/vm/drop_caches': 'EROFS',
      'write /proc/sysrq-trigger': 'EROFS',
      'write /sys/kernel/x': expect.stringMatching(/^(EROFS|EACCES|EPERM)$/),
      'write /sys/fs/cgroup/x': expect.stringMatching(/^(EROFS|EACCES|EPERM)$/),
      'write /dev/shm/x': expect.stringMatching(/^(ENOENT|EROFS)$/),
      'write /dev/mqueue/x': expect.stringMatching(/^(ENOENT|EROFS)$/),
      'write /dev/x': 'EACCES',
      'read /workspace/input': 'ok',
      'write /tmp/x': 'ok',
    })
  })

  it('mounts nothing writable but /tmp, which holds no programs, no setuid files and no devices', async () => {
    const { stdout } = await room.probe(['show', '/proc/self/mountinfo'])
    const mounts = stdout
      .trimEnd()
      .split('\n')
      .map(line => {
        const [, , , , place = '', options = ''] = line.split(' ')
        const [type = '', , superOptions = ''] = line.slice(line.indexOf(' - ') + 3).split(' ')
        return { place, type, options: options.split(','), superOptions: superOptions.split(',') }
      })
    const isWritable = ({ options, superOptions }: (typeof mounts)[number]) =>
      !options.includes('ro') && !superOptions.includes('ro')
    // Of the kernel, or of devices that every container has: nothing there can be created or kept.
    const kernels = ['proc', 'devpts']
    const writable = mounts.filter(
      mount => isWritable(mount) && !kernels.includes(mount.type) && mount.place !== '/dev',
    )
    const inDev = mounts
      .filter(({ place, type }) => place.startsWith('/dev/') && type === 'devtmpfs')
      .map(({ place }) => place)
    expect(writable.map(({ place }) => place).filter(place => !inDev.includes(place))).toEqual(['/tmp'])
    const tmp = mounts.find(({ place }) => place === '/tmp')
    expect(tmp?.type).toBe('tmpfs')
    expect(tmp?.options).toEqual(expect.arrayContaining(['noexec', 'nosuid', 'nodev']))
    expect(mounts.find(({ place }) => place === '/workspace')?.options).toContain('ro')
    expect(mounts.find(({ place }) => place === '/')?.options).toContain('ro')
  })

  it('runs no program from /tmp; one in memory does run, with no more rights than before', async () => {
    const script =
      'cp /bin/probe /tmp/p && chmod 755 /tmp/p && /bin/probe each exec /tmp/p uid , memfd , mknod /tmp/sda'
    const { end, stdout } = await room.probe(['-c', script], { command: '/bin/sh' })
    expect(end).toEqual({ kind: 'exited', code: 0 })
    expect(stdout).toBe('exec /tmp/p uid: EACCES\nmemfd: 65532\nmknod /tmp/sda: EPERM\n')
  })

  it('gives /tmp sixteen MiB and no more', async () => {
    const said = await attempts(room, [['fill', '/tmp/all', String(17 * mebibyte)]])
    const [bytes, errno] = (said[`fill /tmp/all ${17 * mebibyte}`] ?? '').split(' ')
    expect(errno).toBe('ENOSPC')
    expect(Number(bytes)).toBeLessThanOrEqual(16 * mebibyte)
    expect(Number(bytes)).toBeGreaterThan(15 * mebibyte)
  })

  it('bounds the files in /tmp', async () => {
    const [count, errno] = (Object.values(await attempts(room, [['inodes', '/tmp', '200000']]))[0] ?? '').split(' ')
    if (one.engine.kind === 'docker') expect([Number(count) < 4_096, errno]).toEqual([true, 'ENOSPC'])
    // Podman cannot bound them: memory does.
    else expect(errno).toMatch(/^(ok|ENOMEM|ENOSPC)$/)
  })

  it('covers each volume that the image declares with something read-only', async () => {
    const image = (
      await makeImage(one.engines, {
        name: 'volumes',
        config: { Volumes: { '/data': {}, '/var/tmp': {}, '/tmp/in': {}, '/workspace/in': {} } },
      })
    )[one.engine.kind]
    const places = ['/data/x', '/var/tmp/x', '/workspace/in/x']
    const said = await attempts(
      room,
      places.map(place => ['write', place]),
      { imageReference: image.reference },
    )
    for (const place of places) expect(said[`write ${place}`], place).toMatch(/^(EROFS|ENOENT)$/)
  })

  it('sees nothing of the host', async () => {
    const said = await attempts(room, [
      ['read', '/var/run/docker.sock'],
      ['read', '/run/docker.sock'],
      ['read', one.engine.socket],
      ['read', '/etc/shadow'],
      ['read', `${process.env['HOME'] ?? '/root'}/.ssh`],
      ['read', '/proc/1/root/etc/shadow'],
      ['read', '/workspace/../etc/shadow'],
      ['read', '/dev/sda'],
      ['read', '/dev/kmsg'],
      ['read', '/dev/mem'],
      ['read', '/proc/kcore'],
    ])
    for (const [attempt, word] of Object.entries(said)) {
      expect(word, attempt).toMatch(attempt === 'read /proc/kcore' ? /^(EACCES|EPERM|ok)$/ : /^(ENOENT|EACCES)$/)
    }
    // The engine puts an empty file over it.
    expect((await room.probe(['show', '/proc/kcore'])).stdout).toMatch(/^(EACCES\n|EPERM\n)?$/)
  })
})
