import { z } from 'zod'
import { type Connection, EngineClient, orGone } from './client.ts'
import type { CheckedImage, Engine } from './engine.ts'
import { imageOf } from './image.ts'
import { refuseLinks } from './image-links.ts'
import { podmanAsked, podmanControls } from './podman-controls.ts'
import { type PodmanSettings, podmanSpec } from './podman-spec.ts'

/** Version of the native API that is spoken: each newer Podman understands it. */
const native = '/v4.0.0/libpod'

const createdSchema = z.object({ Id: z.string() })

/**
 * Podman: made and looked at through its native endpoints, the rest through those that are like Docker's. Its compatible
 * `create` makes missing sources, leaves /run and /var/tmp writable and keeps the image's variables.
 */
export function podmanEngine(
  connection: Connection,
  {
    seccompProfile,
    coversCgroups,
    ...about
  }: Pick<Engine, 'version' | 'address' | 'key' | 'isLocal' | 'hidesNestedMounts' | 'takesCgroupParent'> &
    PodmanSettings,
): Engine {
  const client = new EngineClient(
    connection,
    id => `${native}/containers/${id}/json`,
    inspected => podmanControls(inspected, seccompProfile),
  )
  const images = new Map<string, CheckedImage>()
  return {
    kind: 'podman',
    ...about,
    async image(reference) {
      const known = images.get(reference)
      // What an id names never changes: whether it is still there is asked more quickly than what it is.
      if (known !== undefined && (await isThere(client, known))) return known
      const image = await imageOf(client, reference)
      if (image !== null) images.set(reference, image)
      return image
    },
    async create(spec) {
      const body = podmanSpec(spec, { seccompProfile, coversCgroups })
      const made = await client.call('create', 'POST', `${native}/containers/create`, {
        body,
        ok: [201],
        limit: 60_000,
      })
      return createdSchema.parse(made).Id
    },
    refuseLinks: (id, image) => refuseLinks(client, id, image),
    asked: spec => podmanAsked(spec, coversCgroups),
    attach: (id, to) => client.attach(id, to),
    start: id => client.start(id),
    // Its own looks for `running` now and then: for what ended in between it waits for ever, within Podman too.
    wait: (_id, signal) => client.untilGone(signal),
    inspect: id => client.inspect(id),
    kill: id => client.kill(id),
    remove: id => client.remove(id),
    list: () => client.list(),
  }
}

async function isThere(client: EngineClient, { id }: CheckedImage): Promise<boolean> {
  return (await orGone(client.call('image', 'GET', `${native}/images/${id}/exists`, { ok: [204] }))) !== null
}
