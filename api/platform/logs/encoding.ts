/** The reasons for which a log ends. */
export type LogEnd = 'End' | 'Duration' | 'Interrupted' | 'Shutdown' | 'Revoked' | 'Deleted'

/** The conversion of the bytes of a log into those of a response. */
export type LogEncoding = {
  readonly contentType: string
  readonly encode: (chunk: Uint8Array) => Uint8Array
  /** Returns what follows the last bytes. */
  readonly finish: (end: LogEnd) => Uint8Array
  /** Bytes that keep an idle connection open; undefined if there are none. */
  readonly keepAlive: Uint8Array | undefined
}

const empty = new Uint8Array()
const toBytes = new TextEncoder()

/** Returns the bytes as they are. */
export const textEncoding = (): LogEncoding => ({
  contentType: 'text/plain; charset=utf-8',
  encode: (chunk) => chunk,
  finish: () => empty,
  keepAlive: undefined,
})

/** The maximum length of a line in one event, in code points. A longer line is several events. */
const maxLineLength = 16 * 1024

/**
 * Returns one server-sent event for each line, and a last event `end` with the reason. A carriage return ends a line too, as in
 * an event stream. Otherwise a line of a log could add a field or an event.
 */
export const eventEncoding = (): LogEncoding => {
  const decoder = new TextDecoder()
  let rest = ''
  const takeLines = (text: string): string => {
    // A carriage return at the end may be the first half of a line break.
    const parts = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = parts.pop() ?? ''
    const events = parts.map(toEvents).join('')
    if (rest.length <= maxLineLength) return events
    const pieces = splitLine(rest)
    rest = pieces.pop() ?? ''
    return events + pieces.map(toEvent).join('')
  }
  return {
    contentType: 'text/event-stream; charset=utf-8',
    encode: (chunk) => toBytes.encode(takeLines(decoder.decode(chunk, { stream: true }))),
    finish: (end) => {
      const last = takeLines(decoder.decode())
      const line = rest.replace(/\r$/, '')
      const lines = `${last}${line === '' ? '' : toEvents(line)}`
      rest = ''
      return toBytes.encode(`${lines}event: end\ndata: {"reason":"${end}"}\n\n`)
    },
    keepAlive: toBytes.encode(': keep-alive\n\n'),
  }
}

const toEvent = (line: string): string => `data: ${line}\n\n`
const toEvents = (line: string): string => splitLine(line).map(toEvent).join('')

const piece = new RegExp(`.{1,${maxLineLength}}`, 'gsu')
const splitLine = (line: string): string[] => (line.length <= maxLineLength ? [line] : [...(line.match(piece) ?? [])])
