import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { askEngine } from '../../engines/api.ts'
import { type ImageRecipe, makeImage } from '../../engines/images.ts'
import { describeEngines } from '../../engines/provided.ts'
import { useRoom } from './support.ts'

describeEngines('an image that wants more', one => {
  const room = useRoom(one)
  const reference = async (recipe: ImageRecipe) => (await makeImage(one.engines, recipe))[one.engine.kind].reference

  it('gets nothing of what its configuration says', async () => {
    const imageReference = await reference({
      name: 'greedy',
      config: {
        User: 'root',
        Entrypoint: ['/bin/probe', 'words', 'of-the-entrypoint'],
        Cmd: ['of-the-command'],
        WorkingDir: '/nowhere',
        Env: [
          'PATH=/elsewhere:/bin',
          'LD_PRELOAD=/evil.so',
          'HTTP_PROXY=http://192.0.2.1',
          'HOME=/root',
          'EMPTY=',
          'BASH_ENV=/evil',
        ],
        Volumes: { '/data': {} },
        Healthcheck: { Test: ['CMD-SHELL', 'touch /tmp/healthy'], Interval: 1_000_000_000, Timeout: 1_000_000_000 },
        OnBuild: ['RUN touch /built'],
        ExposedPorts: { '80/tcp': {} },
        StopSignal: 'SIGUSR1',
        Labels: { 'dev.agentctl.owner': 'nobody', 'dev.agentctl.run': 'another' },
      },
    })
    const script = 'id -u; pwd; sleep 2.5; ls -A /tmp; exec /bin/probe variables'
    const { end, stdout } = await room.probe(['-c', script], { command: '/bin/sh', imageReference })
    expect(end).toEqual({ kind: 'exited', code: 0 })
    const [user, place, variables = ''] = stdout.split('\n')
    expect([user, place]).toEqual(['65532', '/workspace'])
    // PWD and SHLVL are the shell's own.
    const names = variables.split('\0').map(entry => entry.replace(/^(HOME|HOSTNAME|PWD|SHLVL)=.*/, '$1'))
    expect(names.sort()).toEqual(['', 'HOME', 'HOSTNAME', 'PATH=/elsewhere:/bin', 'PWD', 'SHLVL'])
  })

  it('is no longer there once it was removed, also where it was seen a moment ago', async () => {
    const recipe = { name: 'removed', config: { Labels: { name: 'removed' } } }
    const image = (await makeImage(one.engines, recipe))[one.engine.kind]
    await room.find(image.reference)
    expect((await room.probe(['exit', '0'], { imageReference: image.reference })).end).toEqual({
      kind: 'exited',
      code: 0,
    })
    await askEngine(one.engine, 'DELETE', `/images/${image.id}?force=true`)
    await expect(room.find(image.reference)).rejects.toMatchObject({ code: 'image_absent' })
    await makeImage(one.engines, recipe)
    expect((await room.find(image.reference)).image.id).toBe(image.id)
  })

  it('cannot choose the labels by which its container is known', async () => {
    const imageReference = await reference({
      name: 'labelled',
      config: { Labels: { 'dev.agentctl.owner': '1 1 x y' } },
    })
    const { end } = await room.probe(['exit', '0'], { imageReference })
    expect(end).toEqual({ kind: 'exited', code: 0 })
  })

  it('gets an empty /tmp of its own user, whatever it has there itself', async () => {
    const files = (root: string) => {
      mkdirSync(path.join(root, 'tmp'))
      writeFileSync(path.join(root, 'tmp/kept'), 'kept')
      chmodSync(path.join(root, 'tmp'), 0o755)
    }
    const imageReference = await reference({ name: 'closed-tmp', files })
    const script = 'ls -A /tmp; stat -c "%a %u" /tmp; touch /tmp/x && echo written'
    const { stdout } = await room.probe(['-c', script], { command: '/bin/sh', imageReference })
    // Of the mode the kernel of the engine may keep the image's; it is the user's own in any case.
    expect(stdout).toMatch(/^(1777|755) 65532\nwritten\n$/)
  })

  it.each([
    ['/workspace', '/etc'],
    ['/workspace', '/proc'],
    ['/tmp', '/bin'],
    ['/tmp', '/workspace'],
  ])('is ended, or never starts, with a link from %s to %s that moves what is writable', async (from, to) => {
    const files = (root: string) => symlinkSync(to, path.join(root, from))
    // The base tree has a /tmp, which must go first.
    const before = from === '/tmp' ? (root: string) => writeFileSync(path.join(root, '.wh.tmp'), '') : undefined
    const imageReference = await reference({ name: `link${from}${to}`.replaceAll('/', '-'), files, before })
    // Time enough for its mounts to be looked at: a place that is writable beside /tmp ends it.
    const { end } = await room.probe(['stubborn'], { imageReference, timeoutSeconds: 20 })
    expect(['lost', 'spawn_failed']).toContain(end.kind)
  })

  it('is not run by a name alone, nor by a digest that it does not have', async () => {
    const name = one.busybox.reference.split('@')[0]
    for (const absent of [`${name}@sha256:${'0'.repeat(64)}`, `sha256:${'0'.repeat(64)}`]) {
      await expect(room.start(['exit', '0'], { imageReference: absent })).rejects.toMatchObject({
        name: 'ExecutorError',
      })
    }
  })
})
