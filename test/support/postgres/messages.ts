/**
 * The part of the wire protocol of Postgres, version 3, that a proxy needs.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

/** A message with its bytes. The first message of a client has no type. */
export type Message = { readonly type: string; readonly bytes: Buffer }

/** Creates a function that splits a stream into messages. It keeps the bytes of an incomplete message. */
export const createSplitter = ({ isClient }: { readonly isClient: boolean }) => {
  let rest: Buffer = Buffer.alloc(0)
  let isTyped = !isClient
  return (chunk: Buffer): Message[] => {
    rest = Buffer.concat([rest, chunk])
    const messages: Message[] = []
    for (;;) {
      const typeBytes = isTyped ? 1 : 0
      if (rest.length < typeBytes + 4) return messages
      const end = typeBytes + rest.readInt32BE(typeBytes)
      if (rest.length < end) return messages
      messages.push({ type: isTyped ? String.fromCharCode(rest[0] ?? 0) : '', bytes: rest.subarray(0, end) })
      rest = rest.subarray(end)
      isTyped = true
    }
  }
}

/** Returns the zero-terminated strings at the start of a message's body. */
const stringsOf = ({ bytes }: Message, count: number): string[] => bytes.toString('utf8', 5).split('\0', count)

/** Creates a function that returns the SQL text that a message of a client executes, or undefined if it executes none. */
export const createStatementReader = () => {
  const prepared = new Map<string, string>()
  return (message: Message): string | undefined => {
    if (message.type === 'Q') return stringsOf(message, 1)[0]
    const [first = '', second = ''] = stringsOf(message, 2)
    // Parse names a statement, which may be executed many times. Bind starts an execution.
    if (message.type === 'P') prepared.set(first, second)
    return message.type === 'B' ? prepared.get(second) : undefined
  }
}

const writePatterns = [
  [/\binsert\s+into\s+"?(\w+)/gi, 'insert'],
  [/\bdelete\s+from\s+"?(\w+)/gi, 'delete'],
  // Not `for update` and `on conflict do update`.
  [/\bupdate\s+"?(\w+)"?\s+(?:(?:as\s+)?"?(?!set\b)\w+"?\s+)?set\b/gi, 'update'],
] as const

/** Returns the changes that a statement makes, such as `insert worlds`. */
export const changesOf = (statement: string): string[] =>
  writePatterns.flatMap(([pattern, verb]) => [...statement.matchAll(pattern)].map(([, table]) => `${verb} ${table}`))

/**
 * Creates a function that follows the transactions of a connection. It returns the changes that a statement commits, or
 * undefined if the statement commits none.
 */
export const createTransactionTracker = () => {
  let open: string[] | undefined
  return (statement: string): string[] | undefined => {
    const end = /^\s*(commit|end|rollback(?!\s+to))\b/i.exec(statement)?.[1]?.toLowerCase()
    if (end !== undefined) {
      const changes = open ?? []
      open = undefined
      return end === 'rollback' || changes.length === 0 ? undefined : [...new Set(changes)].sort()
    }
    if (/^\s*(begin|start\s+transaction)\b/i.test(statement)) open = []
    const changes = changesOf(statement)
    open?.push(...changes)
    return open === undefined && changes.length > 0 ? [...new Set(changes)].sort() : undefined
  }
}
