import { parseArgs } from 'node:util'
import { stage } from './stage.ts'
import { story } from './story.ts'

/**
 * `npm run demo`: the whole loop on this machine, no account. `--control-plane node|worker` chooses the engine (default
 * node), `--keep` leaves pages and API up at the end, `--auto` types the comments even at a terminal.
 */
const { values } = parseArgs({
  options: {
    'control-plane': { type: 'string', default: 'node' },
    keep: { type: 'boolean', default: false },
    auto: { type: 'boolean', default: false },
  },
})
const engine = values['control-plane']
if (engine !== 'node' && engine !== 'worker') {
  process.stderr.write(`--control-plane is node or worker, not ${engine}\n`)
  process.exit(2)
}

const scene = await stage(engine)
try {
  await story(scene, { interactive: !values.auto && process.stdin.isTTY === true, keep: values.keep })
} finally {
  await scene.close()
}
