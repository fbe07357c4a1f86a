import { expect, it } from 'vitest'
import { askEngine } from '../../engines/api.ts'
import { makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { mebibyte, useRoom } from './support.ts'

// The fixed controls as each engine shows them by itself: nothing here is read through the code that asks for them.
describeEngines('what the engine shows of a container', one => {
  const room = useRoom(one)
  const isDocker = one.engine.kind === 'docker'

  it('is every fixed control, whatever the image wants', async () => {
    const config = {
      User: 'root',
      Entrypoint: ['/bin/false'],
      Volumes: { '/data': {} },
      Healthcheck: { Test: ['CMD-SHELL', 'true'], Interval: 1_000_000_000 },
      Labels: { 'dev.agentctl.owner': 'nobody', 'dev.agentctl.run': 'another' },
    }
    const image = (await makeImage(one.engines, { name: 'inspected', config }))[one.engine.kind]
    let text = ''
    const { end } = await room.probe(['words', '--privileged'], {
      imageReference: image.reference,
      memoryLimitBytes: 48 * mebibyte,
      cpuLimitMillis: 123,
      pidsLimit: 37,
      async beforeStart(id) {
        text = await askEngine(one.engine, 'GET', `${isDocker ? '' : '/v4.0.0/libpod'}/containers/${id}/json`)
      },
    })
    expect(end).toEqual({ kind: 'exited', code: 0 })
    const { Config, HostConfig, Mounts } = JSON.parse(text)
    expect(Config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/workspace',
      Hostname: 'agentctl',
      Tty: false,
      OpenStdin: false,
      Healthcheck: { Test: ['NONE'] },
      Labels: { 'dev.agentctl.run': 'run', 'dev.agentctl.effect': 'run/task/1/0' },
    })
    expect(Config.Labels['dev.agentctl.owner']).toMatch(new RegExp(`^${process.pid} `))
    expect([Config.Entrypoint].flat()).toEqual(['/bin/probe'])
    expect(Config.Cmd).toEqual(['words', '--privileged'])
    expect(HostConfig).toMatchObject({
      NetworkMode: 'none',
      UsernsMode: '',
      Privileged: false,
      ReadonlyRootfs: true,
      PublishAllPorts: false,
      Memory: 48 * mebibyte,
      MemorySwap: 48 * mebibyte,
      CpuPeriod: 1_000_000,
      CpuQuota: 123_000,
      PidsLimit: 37,
      LogConfig: { Type: 'none' },
    })
    for (const name of ['CapAdd', 'Devices', 'GroupAdd', 'Binds', 'VolumesFrom'])
      if (isDocker || name !== 'Binds') expect(HostConfig[name] ?? [], name).toEqual([])
    expect(HostConfig.PortBindings ?? {}).toEqual({})
    const nofile = HostConfig.Ulimits.filter(({ Name }: { Name: string }) => /nofile/i.test(Name))
    expect(nofile).toMatchObject([{ Soft: 4_096, Hard: 4_096 }])
    expect(HostConfig.SecurityOpt).toContain('no-new-privileges')
    expect(HostConfig.SecurityOpt.join()).not.toContain('unconfined')
    const tmpfs = HostConfig.Tmpfs as { [place: string]: string }
    expect(tmpfs['/tmp']?.split(',')).toEqual(
      expect.arrayContaining(['rw', 'noexec', 'nosuid', 'nodev', 'size=16777216', 'mode=1777']),
    )
    const others = Object.keys(tmpfs).filter(place => place !== '/tmp')
    expect(others).toEqual(expect.arrayContaining(['/dev/mqueue', ...(isDocker ? ['/data'] : [])]))
    for (const place of others) expect(tmpfs[place]?.split(','), place).toContain('ro')
    expect(Mounts).toMatchObject([
      { Type: 'bind', Source: room.directory, Destination: '/workspace', RW: false, Propagation: 'rprivate' },
    ])
    if (isDocker) {
      expect(HostConfig).toMatchObject({
        CapDrop: ['ALL'],
        IpcMode: 'none',
        CgroupnsMode: 'private',
        PidMode: '',
        UTSMode: '',
      })
      expect(HostConfig.Mounts).toMatchObject([{ BindOptions: { NonRecursive: true } }])
    } else {
      expect(HostConfig).toMatchObject({ CgroupMode: 'private', PidMode: 'private', UTSMode: 'private' })
      expect(Mounts[0].Options).toEqual(expect.arrayContaining(['bind', 'nosuid', 'nodev']))
      expect(HostConfig.CapDrop).toContain('CAP_NET_RAW')
    }
  })
})
