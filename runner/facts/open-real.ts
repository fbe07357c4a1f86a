import path from 'node:path'
import { commandFault } from './command-fault.ts'
import { closeDirectory, openDirectory, openFile } from './directory.ts'

/** Opens a canonical path for reading, no link followed and never blocking. The caller closes it. Throws system errors. */
export function openCanonical(realPath: string): number {
  const directory = openDirectory(path.dirname(realPath))
  try {
    return openFile(directory, path.basename(realPath))
  } finally {
    closeDirectory(directory)
  }
}

/** As `openCanonical`, for a file that a command leads to. Throws CommandFault. */
export function openProgram(realPath: string, command: string): number {
  try {
    return openCanonical(realPath)
  } catch (error) {
    throw commandFault(error, command, realPath)
  }
}
