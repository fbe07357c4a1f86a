import { lstatSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { CommandFault, commandFault } from './command-fault.ts'

/** As many links as Linux follows in one path. */
const linksMax = 40

/**
 * Every place through which a path could be led elsewhere: the path itself, what each link on the way turns it into, and
 * at the end the real file. Absolute. Throws CommandFault where it leads to nothing.
 */
export function passedPaths(place: string, command: string): string[] {
  const passed = [place]
  let todo = place.split('/').filter(part => part !== '')
  let done = ''
  for (let links = 0; todo.length > 0; ) {
    const [part = '', ...rest] = todo
    todo = rest
    const next = `${done}/${part}`
    let target: string
    try {
      if (!lstatSync(next).isSymbolicLink()) {
        done = next
        continue
      }
      target = readlinkSync(next)
    } catch (error) {
      throw commandFault(error, command, next)
    }
    links += 1
    if (links > linksMax)
      throw new CommandFault('command_not_found', `command ${JSON.stringify(command)}: too many links`)
    if (next !== place) passed.push(next)
    const resolved = path.resolve(done === '' ? '/' : done, target)
    todo = [...resolved.split('/').filter(name => name !== ''), ...todo]
    done = ''
    passed.push(path.join('/', ...todo))
  }
  return [...new Set([...passed, done])]
}
