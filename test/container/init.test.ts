import { expect, it } from 'vitest'
import { type InitControls, initFaults } from '../../runner/container/init.ts'

const none = '0000000000000000'
const good: InitControls = {
  capBnd: none,
  capEff: none,
  noNewPrivs: '1',
  seccomp: '2',
  uid: '65532\t65532\t65532\t65532',
  gid: '65532\t65532\t65532\t65532',
  writable: '/tmp tmpfs noexec,nosuid,nodev',
  ownNamespaces: 'net ipc mnt pid cgroup uts',
  cwdIsSame: true,
}

it('the first process of a container is as asked for', () => expect(initFaults(good)).toEqual([]))

it.each<[keyof InitControls, string | boolean]>([
  ['capBnd', '00000000a80425fb'],
  ['capEff', '0000000000000400'],
  ['noNewPrivs', '0'],
  ['seccomp', '0'],
  ['seccomp', '1'],
  ['uid', '0\t0\t0\t0'],
  ['uid', '65532\t0\t65532\t65532'],
  ['gid', '65532\t65532\t0\t65532'],
  ['writable', '/tmp tmpfs noexec,nosuid'],
  ['writable', '/tmp tmpfs noexec,nosuid,nodev; /run tmpfs '],
  ['writable', ''],
  ['ownNamespaces', 'net mnt pid cgroup uts'],
  ['cwdIsSame', false],
])('the first process of a container is refused for %s %j', (name, value) => {
  expect(initFaults({ ...good, [name]: value })).toEqual([name])
})
