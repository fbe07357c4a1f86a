import { chmodSync, copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { makeImage } from '../../engines/images.ts'
import { annotatedImage } from '../../engines/oci-image.ts'
import { describeEngines } from '../../engines/provided.ts'
import { attempts, useRoom } from './support.ts'

describeEngines('an image that gives orders', one => {
  const room = useRoom(one)
  const isPodman = one.engine.kind === 'podman'

  // Podman hands them to its runtime; Docker's format has none.
  if (isPodman) {
    it.each([
      ['seccomp', { 'run.oci.seccomp_bpf_data': Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f]).toString('base64') }],
      ['groups', { 'run.oci.keep_original_groups': '1' }],
      ['handler', { 'run.oci.handler': 'krun' }],
      ['unknown', { 'com.example.order': 'x' }],
    ])('by annotations to the runtime is not started: %s', async (name, annotations: { [name: string]: string }) => {
      const imageReference = await annotatedImage(one.engines, `ordering-${name}`, annotations)
      const { end, stdout } = await room.probe(['words', 'ran'], { imageReference })
      expect(end).toMatchObject({ kind: 'spawn_failed', code: 'control_not_in_force' })
      expect(end).toMatchObject({ message: expect.stringContaining('annotations') })
      expect(stdout).toBe('')
    })

    it('runs with annotations that only describe it', async () => {
      const annotations = {
        'org.opencontainers.image.source': 'https://example.com',
        'org.opencontainers.image.title': 'x',
      }
      const imageReference = await annotatedImage(one.engines, 'described', annotations)
      expect((await room.probe(['exit', '3'], { imageReference })).end).toEqual({ kind: 'exited', code: 3 })
    })
  }

  it.each([
    ['/etc/hosts', '/workspace/a/b/hosts'],
    ['/etc/hostname', '/workspace/hostname'],
    ['/etc/resolv.conf', '../workspace/resolv'],
    ['/etc/passwd', '/workspace/passwd'],
    ['/etc/group', '/workspace/group'],
    ['/run/.containerenv', '/workspace/environment'],
    ['/run', '/workspace'],
    ['/run', '/between'],
    ['/dev', '/workspace'],
    ['/etc', 'workspace/etc'],
  ])('by a link from %s to %s makes nothing in the working directory', async (from, to) => {
    const files = (root: string) => {
      mkdirSync(path.join(root, path.dirname(from)), { recursive: true })
      symlinkSync(to, path.join(root, from))
      symlinkSync('/workspace', path.join(root, 'between'))
    }
    const before = (root: string) => {
      mkdirSync(path.join(root, path.dirname(from)), { recursive: true })
      writeFileSync(path.join(root, path.dirname(from), `.wh.${path.basename(from)}`), '')
    }
    const name = `leading${from}${to}`.replaceAll(/[^a-z]+/g, '-')
    const imageReference = (await makeImage(one.engines, { name, files, before }))[one.engine.kind].reference
    const { end } = await room.probe(['exit', '0'], { imageReference })
    expect(readdirSync(room.directory)).toEqual([])
    if (isPodman)
      expect(end).toMatchObject({
        kind: 'spawn_failed',
        code: 'image_unusable',
        message: expect.stringContaining(` has a link at ${from},`),
      })
  })

  it('by a link from /tmp into the working directory makes nothing there, and is not left unseen', async () => {
    const files = (root: string) => symlinkSync('/workspace/made', path.join(root, 'tmp'))
    const before = (root: string) => writeFileSync(path.join(root, '.wh.tmp'), '')
    const recipe = { name: 'made-tmp', files, before }
    const imageReference = (await makeImage(one.engines, recipe))[one.engine.kind].reference
    const { end } = await room.probe(['stubborn'], { imageReference, timeoutSeconds: 20 })
    expect(readdirSync(room.directory)).toEqual([])
    expect(['lost', 'spawn_failed']).toContain(end.kind)
  })

  it('by a link at /workspace to a place of its own is not left unseen', async () => {
    const files = (root: string) => {
      mkdirSync(path.join(root, 'inner'))
      symlinkSync('/inner', path.join(root, 'workspace'))
    }
    // The base tree has one, which must go first.
    const before = (root: string) => writeFileSync(path.join(root, '.wh.workspace'), '')
    const recipe = { name: 'inner-workspace', files, before }
    const imageReference = (await makeImage(one.engines, recipe))[one.engine.kind].reference
    const { end } = await room.probe(['stubborn'], { imageReference, timeoutSeconds: 20 })
    expect(end).toMatchObject({ kind: 'lost', message: expect.stringContaining('cwdIsSame') })
  })

  it.each(['/sbin/init', '/opt/systemd'])('by the name %s gets no place to write', async command => {
    const files = (root: string) => {
      mkdirSync(path.join(root, path.dirname(command)), { recursive: true })
      copyFileSync(one.engines.probe, path.join(root, command))
      chmodSync(path.join(root, command), 0o755)
    }
    const name = `named${command}`.replaceAll('/', '-')
    const imageReference = (await makeImage(one.engines, { name, files }))[one.engine.kind].reference
    const said = await attempts(
      room,
      [
        ['write', '/run/x'],
        ['write', '/sys/fs/cgroup/systemd/x'],
      ],
      {
        imageReference,
        command,
      },
    )
    for (const word of Object.values(said)) expect(word).toMatch(/^(EROFS|ENOENT)$/)
  })

  it.each(['/workspace/bin:.:bin:/workspace', '', '/../workspace/bin'])(
    'by its PATH %j does not make a file of the working directory the command',
    async place => {
      mkdirSync(room.file('bin'))
      for (const file of ['tool', 'bin/tool']) {
        writeFileSync(room.file(file), '#!/bin/sh\necho ran\n')
        chmodSync(room.file(file), 0o755)
      }
      const config = { Env: [`PATH=${place}:/bin`] }
      const name = `path${place}`.replaceAll(/[^a-z]+/g, '-')
      const imageReference = (await makeImage(one.engines, { name, config }))[one.engine.kind].reference
      const { end, stdout } = await room.probe([], { imageReference, command: 'tool' })
      expect({ end, stdout }).toMatchObject({ end: { kind: 'spawn_failed', code: 'ENOENT' }, stdout: '' })
    },
  )
})
