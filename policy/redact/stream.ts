import type { TextMatcher } from './matcher.ts'

export interface StreamRedactor {
  /** Takes bytes of UTF-8 text and gives what can be shown already. */
  push(chunk: Uint8Array): string
  /** The rest. */
  end(): string
}

/** What is hidden at the moment, and what is shown in its place. */
export interface Hiding {
  matcher: TextMatcher
  mask: string
}

/**
 * Redacts a stream: what could still be the beginning of a secret is kept back, about as many characters as the longest
 * pattern has, and more where the text is dense with escapes. The concatenated output is what `replace` gives for the whole text. What `current` learns meanwhile is
 * hidden from then on, in what is kept back too.
 */
export function redactStream(current: () => Hiding): StreamRedactor {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let kept = ''
  /** How far into `kept` the mask given out last reaches; -1 where the text given out last was plain. */
  let covered = -1
  /** No release is worth its work before so much is kept. */
  let due = 0

  function release(safe: number): string {
    const { matcher, mask } = current()
    let shown = ''
    let from = Math.max(0, covered)
    let isMasked = covered >= 0
    for (const [start, end] of matcher.ranges(kept)) {
      if (start >= safe) break
      if (isMasked && start <= from) {
        from = Math.max(from, end)
        continue
      }
      shown += kept.slice(from, start) + mask
      from = end
      isMasked = true
    }
    if (from < safe) {
      shown += kept.slice(from, safe)
      from = safe
      isMasked = false
    }
    covered = isMasked ? from - safe : -1
    kept = kept.slice(safe)
    return shown
  }

  return {
    push(chunk) {
      kept += decoder.decode(chunk, { stream: true })
      if (kept.length < due) return ''
      const safe = current().matcher.settled(kept)
      const held = kept.length - safe
      // Each release scans all of `kept`: a few characters at a time would make tiny chunks quadratic.
      const shown = safe > held / 4 ? release(safe) : ''
      due = Math.max(kept.length + 1, Math.floor(held * 1.25))
      return shown
    },
    end() {
      kept += decoder.decode()
      return release(kept.length)
    },
  }
}
