import { writeSync } from 'node:fs'
import { openEmbedded, systemClock, systemIds } from '../../../ledger/index.ts'
import { create, effectOf, end, finish, move, request, start } from './commands.ts'

/**
 * A process of its own that works on a ledger file: `writer.ts FILE RUNS`. Creates runs of one task with one effect, commit
 * by commit, and prints a line for each acknowledged commit, so that a test knows what must be there after a kill. With
 * `hold` it stays after the first start.
 */
const [file = '', runs = '1', mode = ''] = process.argv.slice(2)
const ledger = openEmbedded({ file, clock: systemClock, ids: systemIds })
for (let index = 0; index < Number(runs); index += 1) {
  const run = systemIds.uuid()
  const apply = async (...commands: Parameters<typeof ledger.apply>[0]['commands']) => {
    const named = commands.map(command => ({ ...command, id: systemIds.uuid() }))
    const receipt = await ledger.apply({ run, epoch: 1, commands: named })
    // Straight to the pipe: a buffered line would be lost with the process though its commit was acknowledged.
    writeSync(1, `${run} ${effectOf(run, 'a')} ${receipt.head}\n`)
  }
  await apply(create([{ id: 'a' }]))
  await apply(move('a', 'running'), request(run, 'a', 'allow'), start(run, 'a'))
  if (mode === 'hold') await new Promise(resolve => setTimeout(resolve, 3_600_000))
  await apply(finish(run, 'a'), move('a', 'succeeded'), end('succeeded'))
}
await ledger.close()
