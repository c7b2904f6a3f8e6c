import { removeAnsi } from './ansi.ts'

/** The limits of a log in memory. The oldest lines are dropped; a longer line continues on the next one. */
export const logLimits = { lines: 20_000, characters: 16_000_000, lineLength: 16_384 }

/** The newest lines of a log. Lines are numbered from 0 at its start; the first one in memory has the number `dropped`. */
export type LogLines = {
  /** Adds text that may begin and end within a line. */
  readonly appendText: (text: string) => void
  /** Number of lines in memory, with a last line that has not ended. */
  readonly length: number
  /** Number of lines that are not in memory any more. */
  readonly dropped: number
  /** Returns the line with a number, with its escape sequences. Empty if it is not in memory. */
  readonly lineAt: (number: number) => string
  /** Returns the numbers of the lines, from a number on, that contain a text, in any case and without regard to escape sequences. */
  readonly search: (text: string, from?: number) => number[]
}

/** Returns an empty log. Other limits are for tests. */
export const createLogLines = (limits = logLimits): LogLines => {
  const lines: string[] = []
  let [last, dropped, characters] = ['', 0, 0]

  const add = (line: string): void => {
    lines.push(line)
    characters += line.length
  }
  /** Adds the full pieces of a line, and returns the rest. */
  const addPieces = (line: string): string => {
    let rest = line
    while (rest.length > limits.lineLength) {
      add(rest.slice(0, limits.lineLength))
      rest = rest.slice(limits.lineLength)
    }
    return rest
  }
  const length = (): number => lines.length + (last === '' ? 0 : 1)
  const drop = (): void => {
    let count = 0
    while (count < lines.length && (length() - count > limits.lines || characters + last.length > limits.characters)) {
      characters -= lines[count]?.length ?? 0
      count += 1
    }
    lines.splice(0, count)
    dropped += count
  }

  return {
    appendText: (text) => {
      const parts = `${last}${text}`.split('\n')
      last = ''
      const rest = parts.pop() ?? ''
      for (const part of parts) add(addPieces(part.endsWith('\r') ? part.slice(0, -1) : part))
      last = addPieces(rest)
      drop()
    },
    get length() {
      return length()
    },
    get dropped() {
      return dropped
    },
    lineAt: (number) => (number - dropped === lines.length ? last : (lines[number - dropped] ?? '')),
    search: (text, from = 0) => {
      const wanted = text.toLowerCase()
      if (wanted === '') return []
      const first = Math.max(dropped, from)
      return [...lines.slice(first - dropped), last].flatMap((line, index) =>
        removeAnsi(line).toLowerCase().includes(wanted) ? [index + first] : [],
      )
    },
  }
}
