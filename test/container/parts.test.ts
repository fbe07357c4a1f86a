import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { dockerAddress, podmanAddress } from '../../runner/container/address.ts'
import { refuseDoors } from '../../runner/container/doors.ts'
import { checkEngine, type EngineInfo, hasOpenCgroups } from '../../runner/container/engine-checks.ts'
import { findEngine } from '../../runner/container/find-engine.ts'
import { Frames } from '../../runner/container/frames.ts'
import { readImage } from '../../runner/container/image.ts'
import { isOwnerDead, ownerLabel } from '../../runner/container/labels.ts'
import { podmanProfile } from '../../runner/container/seccomp.ts'
import { closeDirectory, openDirectory } from '../../runner/facts/directory.ts'
import { bootId, ownIdentity, pidNamespace } from '../../runner/process/containment/proc.ts'
import { describeEngines } from '../engines/provided.ts'

let room = ''
beforeEach(() => {
  room = mkdtempSync('/tmp/agentctl-parts-')
})
afterEach(() => rmSync(room, { recursive: true, force: true }))

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : String(error))
const refusal = (act: () => unknown) => {
  try {
    act()
    return 'none'
  } catch (error) {
    return codeOf(error)
  }
}
const image = `sha256:${'a'.repeat(64)}`

describe('frames of an engine', () => {
  const frame = (type: number, text: string) => {
    const header = Buffer.alloc(8)
    header.writeUInt8(type, 0)
    header.writeUInt32BE(text.length, 4)
    return Buffer.concat([header, Buffer.from(text)])
  }

  it('give each stream its bytes, however they are cut', () => {
    const whole = Buffer.concat([frame(1, 'out'), frame(2, ''), frame(2, 'error'), frame(1, ' more')])
    for (let size = 1; size <= whole.length; size += 1) {
      const told = { stdout: '', stderr: '' }
      const frames = new Frames((stream, bytes) => {
        told[stream] += Buffer.from(bytes).toString()
      })
      for (let at = 0; at < whole.length; at += size) frames.add(whole.subarray(at, at + size))
      expect([told, frames.isWhole]).toEqual([{ stdout: 'out more', stderr: 'error' }, true])
    }
  })

  it('are not whole within a header or within a frame, and are nothing else', () => {
    const cut = new Frames(() => {})
    cut.add(frame(1, 'out').subarray(0, 9))
    expect(cut.isWhole).toBe(false)
    const header = new Frames(() => {})
    header.add(Buffer.from([1, 0]))
    expect(header.isWhole).toBe(false)
    expect(() => new Frames(() => {}).add(Buffer.from('plain text that is no frame'))).toThrow('no frame')
  })
})

describe('where an engine answers', () => {
  it.each([
    [{}, 'unix:///var/run/docker.sock'],
    [{ DOCKER_HOST: 'unix:///x/d.sock' }, 'unix:///x/d.sock'],
    [{ DOCKER_HOST: 'tcp://127.0.0.1:2375' }, 'tcp://127.0.0.1:2375'],
    [{ DOCKER_CONTEXT: 'default' }, 'unix:///var/run/docker.sock'],
  ])('is found for Docker in %j', (environment, shown) => {
    expect(dockerAddress({ HOME: room, ...environment }).shown).toBe(shown)
  })

  it('is that of the context that is named, or current', () => {
    const digest = createHash('sha256').update('mine').digest('hex')
    mkdirSync(path.join(room, 'contexts/meta', digest), { recursive: true })
    writeFileSync(path.join(room, 'config.json'), JSON.stringify({ currentContext: 'mine' }))
    expect(refusal(() => dockerAddress({ DOCKER_CONFIG: room }))).toBe('engine_address')
    const meta = { Name: 'mine', Endpoints: { docker: { Host: 'unix:///mine.sock' } } }
    writeFileSync(path.join(room, 'contexts/meta', digest, 'meta.json'), JSON.stringify(meta))
    expect(dockerAddress({ DOCKER_CONFIG: room }).shown).toBe('unix:///mine.sock')
    expect(dockerAddress({ DOCKER_CONFIG: room, DOCKER_CONTEXT: 'default' }).shown).toBe('unix:///var/run/docker.sock')
    expect(dockerAddress({ DOCKER_CONFIG: room, DOCKER_HOST: 'unix:///host.sock' }).shown).toBe('unix:///host.sock')
  })

  it.each([
    [{ DOCKER_HOST: 'ssh://me@host' }],
    [{ DOCKER_HOST: 'unix://relative' }],
    [{ DOCKER_HOST: 'no address' }],
    [{ DOCKER_HOST: 'ftp://x' }],
    [{ DOCKER_HOST: 'tcp://127.0.0.1:2376', DOCKER_CERT_PATH: '/nowhere' }],
    [{ DOCKER_CONTEXT: 'missing', DOCKER_CONFIG: '/nowhere' }],
  ])('is refused in %j', environment => {
    expect(refusal(() => dockerAddress(environment))).toBe('engine_address')
  })

  it('is the root or the user socket of Podman, or what CONTAINER_HOST names', () => {
    expect(podmanAddress({}, 0)).toMatchObject({ shown: 'unix:///run/podman/podman.sock', isExplicit: false })
    expect(podmanAddress({}, 1000).shown).toBe('unix:///run/user/1000/podman/podman.sock')
    expect(podmanAddress({ CONTAINER_HOST: 'unix:///p' }, 0)).toMatchObject({ shown: 'unix:///p', isExplicit: true })
    expect(refusal(() => podmanAddress({ CONTAINER_HOST: 'ssh://me@host/run' }, 0))).toBe('engine_address')
  })
})

describe('case 25 and 32: an engine that says of itself', () => {
  const good: EngineInfo = {
    OSType: 'linux',
    Name: 'host',
    KernelVersion: '6',
    ServerVersion: '20',
    SecurityOptions: ['name=seccomp,profile=default'],
    DefaultRuntime: 'runc',
    MemoryLimit: true,
    SwapLimit: true,
    CpuCfsPeriod: true,
    CpuCfsQuota: true,
    PidsLimit: true,
  }
  const check = (change: Partial<EngineInfo>) =>
    refusal(() => checkEngine('docker', 'unix:///x', { ...good, ...change }))

  it('all that is needed is taken', () => {
    expect(check({})).toBe('none')
    expect(check({ SecurityOptions: ['name=apparmor', 'name=seccomp,profile=builtin', 'name=cgroupns'] })).toBe('none')
  })

  it.each([
    ['docker', 'io.containerd.runc.v2', 'none'],
    ['podman', 'runc', 'none'],
    ['podman', 'crun', 'none'],
    ['podman', '/usr/bin/crun', 'none'],
    ['podman', 'youki', 'engine_runtime'],
  ] as const)('%s may run containers by %s: %s', (kind, DefaultRuntime, code) => {
    expect(refusal(() => checkEngine(kind, 'unix:///x', { ...good, DefaultRuntime }))).toBe(code)
  })

  it.each<[Partial<EngineInfo>, string]>([
    [{ OSType: 'windows' }, 'engine_not_linux'],
    [{ Rootless: true }, 'engine_rootless'],
    [{ SecurityOptions: ['name=seccomp,profile=default', 'name=rootless'] }, 'engine_rootless'],
    [{ SecurityOptions: ['name=seccomp,profile=default', 'name=userns'] }, 'engine_userns'],
    [{ SecurityOptions: ['name=seccomp,profile=unconfined'] }, 'engine_no_seccomp'],
    [{ SecurityOptions: ['name=seccomp,profile=/etc/own.json'] }, 'engine_no_seccomp'],
    [{ SecurityOptions: [] }, 'engine_no_seccomp'],
    [{ SecurityOptions: null }, 'engine_no_seccomp'],
    [{ DefaultRuntime: 'runsc' }, 'engine_runtime'],
    [{ DefaultRuntime: 'crun' }, 'engine_runtime'],
    [{ DefaultRuntime: 'nvidia' }, 'engine_runtime'],
    [{ DefaultRuntime: undefined } as Partial<EngineInfo>, 'engine_runtime'],
    [{ MemoryLimit: false }, 'engine_limit'],
    [{ SwapLimit: false }, 'engine_limit'],
    [{ CpuCfsPeriod: false }, 'engine_limit'],
    [{ CpuCfsQuota: false }, 'engine_limit'],
    [{ PidsLimit: false }, 'engine_limit'],
    [{ PidsLimit: undefined } as Partial<EngineInfo>, 'engine_limit'],
  ])('%j is refused as %s', (change, code) => {
    expect(check(change)).toBe(code)
  })
})

describe('/sys/fs/cgroup', () => {
  it.each<[Partial<EngineInfo>, boolean]>([
    [{ CgroupVersion: '1', DefaultRuntime: 'runc' }, false],
    [{ CgroupVersion: '1', DefaultRuntime: '/usr/sbin/runc' }, false],
    [{ CgroupVersion: '1', DefaultRuntime: 'crun' }, true],
    [{ CgroupVersion: '1', DefaultRuntime: '/usr/bin/crun' }, true],
    [{ DefaultRuntime: 'crun' }, true],
    [{}, true],
    [{ CgroupVersion: '2', DefaultRuntime: 'crun' }, false],
  ])('of %j is covered: %s', (info, isCovered) => {
    expect(hasOpenCgroups(info as EngineInfo)).toBe(isCovered)
  })
})

describe('no engine', () => {
  const find = (choice: 'auto' | 'docker' | 'podman', environment: { [name: string]: string }) =>
    findEngine(choice, image, environment).then(() => 'found', codeOf)

  it('answers where none listens', async () => {
    const nowhere = `unix://${room}/none.sock`
    expect(await find('docker', { DOCKER_HOST: nowhere })).toMatch(/^engine_not_(running|installed)$/)
    expect(await find('podman', { CONTAINER_HOST: nowhere })).toMatch(/^engine_not_(running|installed)$/)
    const both = findEngine('auto', image, { DOCKER_HOST: nowhere, CONTAINER_HOST: nowhere })
    await expect(both).rejects.toMatchObject({
      code: 'no_engine',
      message: expect.stringMatching(/docker.*none\.sock.*podman.*none\.sock/),
    })
  })

  it('is what answers something else, or closes', async () => {
    const place = path.join(room, 's')
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.end(
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      )
    }).listen(place)
    await new Promise(resolve => server.once('listening', resolve))
    const finding = findEngine('docker', image, { DOCKER_HOST: `unix://${place}` })
    await expect(finding).rejects.toMatchObject({
      code: 'engine_unknown',
      message: `what answers at unix://${place} is no docker: it says nothing of OSType; correct the address`,
    })
    server.close()
  })
})

describeEngines('the socket of one kind of engine', ({ engine, busybox }) => {
  const address = `unix://${engine.socket}`
  const [other, name] =
    engine.kind === 'docker' ? (['podman', 'CONTAINER_HOST'] as const) : (['docker', 'DOCKER_HOST'] as const)

  it('is told from the other kind, by name', async () => {
    await expect(findEngine(other, busybox.reference, { [name]: address })).rejects.toMatchObject({
      code: 'engine_other_kind',
      message: `${other} at ${address} is ${engine.kind}; use runtime: ${engine.kind}, or have ${name} lead to ${other}`,
    })
  })

  it('is passed over by auto where the other kind was to be', async () => {
    const own = engine.kind === 'docker' ? 'DOCKER_HOST' : 'CONTAINER_HOST'
    const found = await findEngine('auto', busybox.reference, { [name]: address, [own]: address })
    expect(found.engine.kind).toBe(engine.kind)
  })
})

describe('an image', () => {
  const inspected = {
    Id: image,
    Os: 'linux',
    RepoDigests: [`r/x@sha256:${'b'.repeat(64)}`],
    Config: { Env: ['PATH=/b=c', 'X'] },
  }

  it('is the pinned one, by id or by digest, with its variables and its PATH', () => {
    expect(readImage(image, inspected)).toMatchObject({
      id: image,
      variables: ['PATH', 'X'],
      path: '/b=c',
      volumes: [],
    })
    expect(readImage(`r/x@sha256:${'b'.repeat(64)}`, inspected).id).toBe(image)
    expect(readImage(image, { ...inspected, Id: image.slice(7), Config: null }).id).toBe(image)
  })

  it.each([
    [`sha256:${'c'.repeat(64)}`, inspected],
    [`r/x@sha256:${'a'.repeat(64)}`, inspected],
    [image, { ...inspected, Os: 'windows' }],
    [image, { ...inspected, Id: 'short' }],
    [image, null],
  ])('is refused as %s where the engine answers another', (reference, told) => {
    expect(() => readImage(reference, told)).toThrow('image: ')
  })
})

describe('the owner of a container', () => {
  const here = { boot: bootId(), pidNamespace: pidNamespace() }

  it('lives while this process does', () => {
    expect(isOwnerDead(ownerLabel(), here)).toBe(false)
  })

  it('is dead once it is over, was of another boot, or its pid was given to another', () => {
    const own = ownIdentity()
    if (own === null) throw new Error('no identity')
    expect(isOwnerDead(ownerLabel({ ...own, start: own.start - 1 }), here)).toBe(true)
    expect(isOwnerDead(ownerLabel({ ...own, boot: 'other' }), here)).toBe(true)
  })

  it.each([undefined, '', 'unknown', 'x y z w', '1 2 3'])('is not known to be dead by %j', written => {
    expect(isOwnerDead(written, here)).toBe(false)
  })

  it('in another pid namespace is none of ours', () => {
    expect(isOwnerDead(`4194304 1 ${here.boot} pid:[1]`, here)).toBe(false)
  })
})

describe('a working directory', () => {
  const refused = () => {
    const cwd = openDirectory(room)
    try {
      return refusal(() => refuseDoors(cwd))
    } finally {
      closeDirectory(cwd)
    }
  }
  const withSocket = async (place: string, act: () => void) => {
    const server = createServer().listen(place)
    await new Promise(resolve => server.once('listening', resolve))
    act()
    await new Promise<void>(resolve => server.close(() => resolve()))
  }

  it('is refused for a socket that others may write to, where they can pass', async () => {
    chmodSync(room, 0o755)
    const below = path.join(room, 'a/b')
    mkdirSync(below, { recursive: true })
    await withSocket(path.join(below, 's'), () => {
      chmodSync(path.join(below, 's'), 0o600)
      expect(refused()).toBe('none')
      chmodSync(path.join(below, 's'), 0o602)
      expect(refused()).toBe('open_door')
      chmodSync(path.join(room, 'a'), 0o700)
      expect(refused()).toBe('none')
    })
  })

  it.runIf(process.geteuid?.() === 0)('counts what belongs to the container user itself', async () => {
    const place = path.join(room, 's')
    await withSocket(place, () => {
      chmodSync(place, 0o600)
      chownSync(place, 65_532, 0)
      expect(refused()).toBe('open_door')
      chmodSync(place, 0o060)
      expect(refused()).toBe('none')
      chownSync(place, 0, 65_532)
      expect(refused()).toBe('open_door')
    })
  })
})

describe("Podman's seccomp profile", () => {
  const profile = {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: 38,
    syscalls: [
      { names: ['read', 'mount', 'clone', 'socket', 'socketcall'], action: 'SCMP_ACT_ALLOW' },
      { names: ['unshare', 'setns'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_ADMIN'] } },
    ],
  }
  const made = (text: string) => {
    const file = path.join(room, 'profile.json')
    writeFileSync(file, text)
    return podmanProfile([path.join(room, 'absent.json'), file], [path.join(room, 'own/containers')])
  }

  it('allows by no rule what makes a namespace or mounts', () => {
    const file = made(JSON.stringify(profile))
    const { syscalls } = JSON.parse(readFileSync(file, 'utf8')) as {
      syscalls: { names: string[]; action: string; args?: unknown[] }[]
    }
    const allowed = syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW')
    expect(allowed.filter(({ args }) => args === undefined).flatMap(({ names }) => names)).toEqual(['read'])
    expect(allowed.flatMap(({ names }) => names)).toEqual(['read', 'clone', 'socket', 'socket', 'socket', 'socket'])
    expect(made(JSON.stringify(profile))).toBe(file)
  })

  it('knows nothing of x32, and all else of the architectures', () => {
    const archMap = [
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: ['SCMP_ARCH_X86', 'SCMP_ARCH_X32'] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: ['SCMP_ARCH_ARM'] },
      { architecture: 'SCMP_ARCH_RISCV64', subArchitectures: null },
    ]
    const text = readFileSync(made(JSON.stringify({ ...profile, archMap })), 'utf8')
    const [first, ...others] = archMap
    expect(JSON.parse(text)).toMatchObject({ archMap: [{ ...first, subArchitectures: ['SCMP_ARCH_X86'] }, ...others] })
    expect(readFileSync(made(JSON.stringify(profile)), 'utf8')).not.toContain('archMap')
  })

  it.each(['no JSON', '{}', JSON.stringify({ ...profile, defaultAction: 'SCMP_ACT_ALLOW' })])(
    'is not made of %s',
    text => {
      expect(refusal(() => made(text))).toBe('engine_no_seccomp')
    },
  )

  it('is not made of nothing', () => {
    expect(refusal(() => podmanProfile([path.join(room, 'absent.json')], [path.join(room, 'own/containers')]))).toBe(
      'engine_no_seccomp',
    )
  })
})
