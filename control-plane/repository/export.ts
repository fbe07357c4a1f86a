const chunkChars = 65_536

/** Lines as a byte stream that reads on only when somebody takes, so that a large export needs no memory. */
export function exportStream(lines: Iterable<string>, done: () => void): ReadableStream<Uint8Array> {
  const iterator = lines[Symbol.iterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    type: 'bytes',
    pull(controller) {
      try {
        let text = ''
        let next = iterator.next()
        for (; !next.done; next = iterator.next()) {
          text += next.value.endsWith('\n') ? next.value : `${next.value}\n`
          if (text.length >= chunkChars) break
        }
        if (text !== '') controller.enqueue(encoder.encode(text))
        if (!next.done) return
        controller.close()
        controller.byobRequest?.respond(0)
        done()
      } catch (error) {
        done()
        throw error
      }
    },
    cancel() {
      iterator.return?.()
      done()
    },
  })
}
