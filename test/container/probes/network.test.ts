import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, useRoom } from './support.ts'

describeEngines('the network of a container', one => {
  const room = useRoom(one)

  it('has no way out, to the host, to metadata or to a neighbour', async () => {
    const { port } = await listening({ port: 0, host: '0.0.0.0' })
    const hosts = Object.values(networkInterfaces()).flatMap(list => list ?? [])
    const own = hosts.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address)
    const places = [...own, '192.0.2.1', '169.254.169.254', '10.0.0.1', '172.17.0.1', '255.255.255.255']
    const said = await attempts(room, [
      ...places.flatMap(address => [
        ['connect', address, String(port)],
        ['connect', address, '53', 'udp'],
      ]),
      ['connect6', '2001:db8::1', '443'],
      ['connect6', 'fe80::1', '80'],
      ['connect', '127.0.0.1', String(port)],
      ['connect6', '::1', String(port)],
    ])
    for (const address of places) {
      expect(said[`connect ${address} ${port}`], address).toBe('ENETUNREACH')
      expect(said[`connect ${address} 53 udp`], address).toMatch(/^(ENETUNREACH|EACCES)$/)
    }
    expect(said).toMatchObject({
      'connect6 2001:db8::1 443': expect.stringMatching(/^(ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT)$/),
      'connect6 fe80::1 80': expect.stringMatching(/^(ENETUNREACH|EINVAL|EADDRNOTAVAIL|EAFNOSUPPORT)$/),
      // Its own loopback, where nobody listens.
      [`connect 127.0.0.1 ${port}`]: 'ECONNREFUSED',
      [`connect6 ::1 ${port}`]: expect.stringMatching(/^(ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT)$/),
    })
    const { stdout } = await room.probe(['show', '/proc/net/dev'])
    expect(
      stdout
        .split('\n')
        .slice(2)
        .map(line => line.split(':')[0]?.trim())
        .filter(Boolean),
    ).toEqual(['lo'])
  })

  it('has sockets of few families', async () => {
    const own = ['1', '2', '10', '16']
    // IPX, ATM, RDS, Bluetooth, TIPC, ALG, VSOCK, and the kernel's audit over netlink.
    const others = ['4', '8', '21', '31', '30', '38', '40', '16 9']
    const said = await attempts(
      room,
      [...own, ...others].map(words => ['socket', ...words.split(' ')]),
    )
    const answers = (list: string[]) => list.map(words => said[`socket ${words}`])
    expect(answers(own)).toEqual(own.map(() => 'ok'))
    // Docker's own profile lets the kernel say which it has: its containers have more.
    if (one.engine.kind === 'podman') expect(new Set(answers(others))).toEqual(new Set(['ENOSYS']))
  })

  it('does not reach an abstract socket of the host', async () => {
    const name = `agentctl-probe-${process.pid}`
    await listening({ path: `\0${name}` })
    const words = ['connect-unix', `@${name}`]
    expect(await attempts(room, [words])).toEqual({ [words.join(' ')]: 'ECONNREFUSED' })
  })

  it('reaches a socket in the cwd only where 65532 may write to it', async () => {
    await listening({ path: room.file('closed') })
    // Made only after the walk: the documented limit of a read-only bind.
    const open = await room.start(
      [
        '-c',
        'while ! test -S /workspace/late; do sleep 0.05; done; exec /bin/probe each connect-unix /workspace/late , connect-unix /workspace/closed',
      ],
      { command: '/bin/sh' },
    )
    await listening({ path: room.file('late'), writableAll: true })
    const { end, captured } = await open.wait
    expect(end).toEqual({ kind: 'exited', code: 0 })
    expect(Buffer.from(captured.stdout).toString()).toBe(
      'connect-unix /workspace/late: ok\nconnect-unix /workspace/closed: EACCES\n',
    )
  })
})

/** A server of the host until the end of the test. */
async function listening(at: Parameters<Server['listen']>[0] & object): Promise<{ port: number }> {
  const server = createServer(socket => socket.destroy()).listen(at)
  await once(server, 'listening')
  onTestFinished(() => new Promise<void>(resolve => server.close(() => resolve())))
  const address = server.address()
  return { port: address !== null && typeof address === 'object' ? address.port : 0 }
}
