import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, mebibyte, useRoom } from './support.ts'

describeEngines('files of a container', one => {
  const room = useRoom(one)

  it('refuses a write anywhere but in /tmp', async () => {
    writeFileSync(room.file('input'), 'given')
    chmodSync(room.file('input'), 0o666)
    const places = ['/x', '/bin/x', '/root/x', '/etc/open', '/var/tmp/x', '/run/x', '/workspace/x', '/workspace/input']
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
    // Of root, on mounts that are read-only: the kernel names the one or the other, or has no such file.
    const refusedThere = expect.toBeOneOf(['EROFS', 'EACCES', 'ENOENT'])
    expect(said).toMatchObject({
      'mkdir /workspace/d': 'EROFS',
      'chmod /workspace/input': 'EROFS',
      'write /proc/sys/kernel/hostname': refusedThere,
      'write /proc/sys/vm/drop_caches': refusedThere,
      'write /proc/sysrq-trigger': refusedThere,
      'write /sys/kernel/x': refusedThere,
      'write /sys/fs/cgroup/x': refusedThere,
      'write /dev/shm/x': expect.stringMatching(/^(ENOENT|EROFS)$/),
      'write /dev/mqueue/x': expect.stringMatching(/^(ENOENT|EROFS)$/),
      'write /dev/x': 'EACCES',
      'read /workspace/input': 'ok',
      'write /tmp/x': 'ok',
    })
  })

  it('mounts nothing that it could write to but /tmp, which holds no programs, no setuid files and no devices', async () => {
    const mounts = mountsIn((await room.probe(['show', '/proc/self/mountinfo'])).stdout)
    const isReadOnly = (place: string) => mounts.get(place)?.includes('ro')
    expect(['/', '/workspace', '/sys', '/proc/sys'].filter(place => !isReadOnly(place))).toEqual([])
    expect(mounts.get('/tmp')).toEqual(expect.arrayContaining(['rw', 'noexec', 'nosuid', 'nodev']))
    const tried = [...mounts.keys()].map(place => ['write', `${place}/x`.replace('//', '/')])
    const said = await attempts(room, tried)
    expect(Object.keys(said).filter(attempt => said[attempt] === 'ok')).toEqual(['write /tmp/x'])
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

  it('bounds the files in /tmp, by number on Docker and by memory on Podman', async () => {
    const { end, stdout } = await room.probe(['inodes', '/tmp', '1000000'])
    if (one.engine.kind === 'podman') return expect(end).toMatchObject({ kind: 'limit_exceeded', limit: 'memory' })
    const [count, errno] = stdout.trimEnd().split(' ')
    expect([Number(count) < 4_096, errno]).toEqual([true, 'ENOSPC'])
  })

  it('covers each volume that the image declares with something read-only', async () => {
    const places = ['/data', '/var/tmp', '/tmp/in', '/bin/in']
    const said = await attempts(
      room,
      places.map(place => ['write', `${place}/x`]),
      { imageReference: await withVolumes('volumes', places) },
    )
    for (const place of places) expect(said[`write ${place}/x`], place).toMatch(/^(EROFS|ENOENT)$/)
  })

  it('never makes a volume of the image in the workspace', async () => {
    const { end, stdout } = await room.probe(['write', '/workspace/in/x'], {
      imageReference: await withVolumes('volume-in-workspace', ['/workspace/in']),
    })
    if (end.kind === 'exited') expect(stdout.trimEnd()).toMatch(/^(EROFS|ENOENT)$/)
    else expect(end.kind).toBe('spawn_failed')
    expect(existsSync(room.file('in'))).toBe(false)
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
      // The engines cover /proc/kcore; what the user may do to the rest, were it there, says nothing.
      expect(word, attempt).toMatch(attempt === 'read /proc/kcore' ? /^(ENOENT|EACCES|EPERM|ok)$/ : /^ENOENT$/)
    }
    // The engine puts an empty file over it.
    expect((await room.probe(['show', '/proc/kcore'])).stdout).toMatch(/^(ENOENT\n|EACCES\n|EPERM\n)?$/)
  })

  async function withVolumes(name: string, places: string[]): Promise<string> {
    const config = { Volumes: Object.fromEntries(places.map(place => [place, {}])) }
    return (await makeImage(one.engines, { name, config }))[one.engine.kind].reference
  }
})

/** Options of the mount at each place, the last one where several lie on one another. */
function mountsIn(mountinfo: string): Map<string, string[]> {
  const lines = mountinfo
    .trimEnd()
    .split('\n')
    .map(line => line.split(' '))
  return new Map(lines.map(([, , , , place = '', options = '']) => [place, options.split(',')]))
}
