import { type Connection, EngineClient } from './client.ts'
import { dockerBody } from './docker-body.ts'
import { dockerAsked, dockerControls } from './docker-controls.ts'
import type { Engine } from './engine.ts'
import { imageOf } from './image.ts'

/** Docker's engine over dockerode. */
export function dockerEngine(
  connection: Connection,
  about: Pick<Engine, 'version' | 'address' | 'key' | 'isLocal' | 'hidesNestedMounts'>,
): Engine {
  const client = new EngineClient(connection, id => `/containers/${id}/json`, dockerControls)
  return {
    kind: 'docker',
    ...about,
    takesCgroupParent: false,
    image: reference => imageOf(client, reference),
    create: spec => client.create('/containers/create', dockerBody(spec)),
    // runc resolves each within the container, and makes nothing through one.
    async refuseLinks() {},
    asked: dockerAsked,
    attach: (id, to) => client.attach(id, to),
    start: id => client.start(id),
    wait: (id, signal) => client.wait(id, signal),
    inspect: id => client.inspect(id),
    kill: id => client.kill(id),
    remove: id => client.remove(id),
    list: () => client.list(),
  }
}
