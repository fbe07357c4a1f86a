import { expect, it } from 'vitest'
import { describeEngines } from '../../engines/provided.ts'
import { runInARow } from './many.ts'
import { useRoom } from './support.ts'

describeEngines('many containers', one => {
  const room = useRoom(one)

  it('run side by side, each with its own output and its own end', async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const outcomes = await Promise.all(
      numbers.map(number =>
        room.probe(['-c', `echo ${number}; echo ${number} >&2; exit ${number}`], { command: '/bin/sh' }),
      ),
    )
    expect(outcomes.map(({ end, stdout, stderr }) => ({ end, stdout, stderr }))).toEqual(
      numbers.map(number => ({ end: { kind: 'exited', code: number }, stdout: `${number}\n`, stderr: `${number}\n` })),
    )
    expect(outcomes.every(({ controls }) => controls.removed)).toBe(true)
  })

  it('leave nothing that grows', () => runInARow(room, one.engine, 12))
})
