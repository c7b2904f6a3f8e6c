/** A line of a log, or the end of the log with its reason. */
export type LogEvent =
  | { readonly kind: 'line'; readonly text: string }
  | { readonly kind: 'end'; readonly reason: string }

/** The API splits lines at 16,384 characters. Text without a line break beyond this is not an event stream. */
const maxPendingLength = 256 * 1024

/**
 * Creates a parser of the event stream of a log. It takes the text in any pieces and returns the events that are complete.
 * Comments, such as those that keep the connection open, and events of other types are left out. Throws an Error for a field
 * without an end.
 */
export const createLogParser = (): ((piece: string) => LogEvent[]) => {
  let pending = ''
  let type = ''
  let data: string[] = []
  const finish = (): LogEvent[] => {
    const event = toEvent(type, data)
    type = ''
    data = []
    return event === undefined ? [] : [event]
  }
  return (piece) => {
    const lines = (pending + piece).split('\n')
    pending = lines.pop() ?? ''
    if (pending.length > maxPendingLength) throw new Error('The log has a line without an end.')
    const events: LogEvent[] = []
    for (const line of lines) {
      const [, name = '', value = ''] = field.exec(line) ?? []
      if (line === '') events.push(...finish())
      else if (name === 'event') type = value
      else if (name === 'data') data.push(value)
    }
    return events
  }
}

const field = /^([a-z]+)(?:: ?(.*))?$/s

const toEvent = (type: string, data: readonly string[]): LogEvent | undefined => {
  if (data.length === 0) return undefined
  const text = data.join('\n')
  if (type === '') return { kind: 'line', text }
  return type === 'end' ? { kind: 'end', reason: reasonOf(text) } : undefined
}

const reasonOf = (text: string): string => {
  try {
    const value: unknown = JSON.parse(text)
    const reason = typeof value === 'object' && value !== null && 'reason' in value ? value.reason : undefined
    return typeof reason === 'string' ? reason : ''
  } catch {
    return ''
  }
}

/** The filter of a log that is read again. */
export type Overlap = {
  /** Returns the lines that are new, once the next line tells. */
  readonly add: (line: string) => string[]
  /** Ends the search for the repeated part, and returns the lines that were held back for it. */
  readonly end: () => string[]
}

/**
 * Creates the filter of a log that is read again from a time before the last of `known`, the last lines before. The shortest
 * repeated part counts, so that no line is lost in a log that repeats itself: a line may then be returned twice. Lines are held
 * back only while all of them may be part of it, and at most as many as `known` has.
 */
export const createOverlap = (known: readonly string[]): Overlap => {
  // Each is a place in `known` at which the next line may continue.
  let places = known.map((_, place) => place)
  let held: string[] = []
  const end = (): string[] => {
    const fresh = held
    places = []
    held = []
    return fresh
  }
  const add = (line: string): string[] => {
    if (places.length === 0) return [line]
    held.push(line)
    places = places.flatMap((place) => (known[place] === line ? [place + 1] : []))
    if (places.at(-1) === known.length) held = []
    return places.length === 0 || held.length === 0 ? end() : []
  }
  return { add, end }
}
