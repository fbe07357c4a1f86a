import { loadNative } from '../../runner/native/linux.ts'
import type { SpawnRequest } from '../../runner/native/native.ts'

/** Starts one program and tells how it ended: `program {"request": ...}`. */
const { request } = JSON.parse(process.argv[2] ?? '') as { request: SpawnRequest }
const layer = loadNative()
if ('absent' in layer) throw new Error(layer.absent)
const { native } = layer
native.closeOnExec(3)
const pid = native.spawn(request)
const wait = setInterval(() => {
  const end = native.wait(pid)
  if (end === null) return
  clearInterval(wait)
  process.stdout.write(`${JSON.stringify({ end })}\n`)
}, 5)
