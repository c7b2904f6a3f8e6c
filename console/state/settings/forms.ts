import { toVisible } from '../visible.ts'

/** The ways in which a setting is written as text, for a field of a form and for comparisons. */
export type Kind =
  | 'text'
  | 'long'
  | 'number'
  | 'choice'
  | 'flag'
  | 'pairs'
  | 'lines'
  | 'build'
  | 'query'
  | 'timeZone'
  | 'cron'
  | 'json'

/** The value that a text means, undefined for none, or the fault of the text. */
export type Parsed = { readonly value: unknown } | { readonly fault: string }

type Form = {
  /** Returns the text of a value, which `parse` reads as an equal value. */
  readonly write: (value: unknown) => string
  readonly parse: (text: string) => Parsed
  /** Returns the text for reading, if it is another one. */
  readonly show?: (text: string) => string
}

const plain: Form = { write: (value) => String(value ?? ''), parse: (value) => ({ value }) }
/** A text with one space between its words. Empty for none. */
const words: Form = { write: plain.write, parse: (text) => ({ value: text.trim().replace(/\s+/g, ' ') || undefined }) }

/** Returns JSON with escapes for invisible characters, which only its texts contain. */
export const escapeInvisible = (json: string): string =>
  [...json].map((each) => (toVisible(each) === each ? each : each.split('').map(escapeUnit).join(''))).join('')
const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns a text as a part of a line: as JSON if the line could not be read otherwise, or if characters are invisible. */
const toPart = (text: string, separator = ''): string => {
  const isPlain =
    !/^["\s]|\s$|[\n\r]|^$/.test(text) && toVisible(text) === text && (separator === '' || !text.includes(separator))
  return isPlain ? text : escapeInvisible(JSON.stringify(text))
}
const fromPart = (part: string): string | undefined => {
  if (!part.startsWith('"')) return part
  const value = parseJson(part)
  return typeof value === 'string' ? value : undefined
}
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => line.trim() || [])
const notALine = (line: string): string => `is not a text in quotes: ${line}`

const parseLines = (text: string): Parsed => {
  const value: string[] = []
  for (const line of linesOf(text)) {
    const read = fromPart(line)
    if (read === undefined) return { fault: notALine(line) }
    value.push(read)
  }
  return { value }
}

const pairPattern = /^(?<key>"(?:[^"\\]|\\.)*"|[^"=][^=]*?)\s*=\s*(?<value>.*)$/s

const parsePairs = (text: string): Parsed => {
  const value = new Map<string, string>()
  for (const line of linesOf(text)) {
    const groups = pairPattern.exec(line)?.groups
    const [key, read] = [fromPart(groups?.key ?? '"'), fromPart(groups?.value ?? '"')]
    if (key === undefined || read === undefined) return { fault: `needs key=value in each line: ${line}` }
    if (value.has(key)) return { fault: `has the key ${key} twice` }
    value.set(key, read)
  }
  return { value: Object.fromEntries(value) }
}

const writePairs = (value: unknown): string =>
  Object.entries((value ?? {}) as Record<string, string>)
    .map(([key, each]) => `${toPart(key, '=')}=${each === '' ? '' : toPart(each)}`)
    .toSorted()
    .join('\n')

/** A build as it is entered. An empty text is a missing part. */
export type BuildText = { readonly channelId: string; readonly tag: string; readonly contentId: string }

/** Returns the parts of the text of a build. */
export const readBuild = (text: string): BuildText => {
  const [channelId = '', tag = '', contentId = ''] = text === '' ? [] : (JSON.parse(text) as string[])
  return { channelId, tag, contentId }
}
/** Returns the text of a build. Empty for the default image. */
export const writeBuild = ({ channelId, tag, contentId }: BuildText): string =>
  `${channelId}${tag}${contentId}` === '' ? '' : JSON.stringify([channelId, tag, contentId])

type Build = { readonly channelId?: string; readonly tag?: string; readonly content?: { readonly id: string } }

const parseBuild = (text: string): Parsed => {
  const { channelId, tag, contentId } = readBuild(text)
  if (text === '') return { value: undefined }
  if (contentId === '') {
    return channelId === '' || tag === '' ? { fault: 'needs a channel and a tag' } : { value: { channelId, tag } }
  }
  return channelId + tag === ''
    ? { value: { content: { id: contentId } } }
    : { fault: 'needs either a channel and a tag, or a content' }
}

const showBuild = (text: string): string => {
  const { channelId, tag, contentId } = readBuild(text)
  if (text === '') return 'None: the image that kubectl set, or the default one'
  return contentId === '' ? `${channelId}:${tag}` : `Content ${contentId}`
}

/** The query of a server as it is entered. An empty protocol means no query, and an empty text a missing part. */
export type QueryText = { readonly protocol: string; readonly port: string; readonly timeoutSeconds: string }

/** Returns the parts of the text of a query. */
export const readQuery = (text: string): QueryText => {
  const [protocol = '', port = '', timeoutSeconds = ''] = text === '' ? [] : (JSON.parse(text) as string[])
  return { protocol, port, timeoutSeconds }
}
/** Returns the text of a query. Empty without a protocol. */
export const writeQuery = ({ protocol, port, timeoutSeconds }: QueryText): string =>
  protocol === '' ? '' : JSON.stringify([protocol, port.trim(), timeoutSeconds.trim()])

const parseQuery = (text: string): Parsed => {
  const { protocol, port, timeoutSeconds } = readQuery(text)
  if (text === '') return { value: undefined }
  for (const [name, part] of [
    ['port', port],
    ['timeout', timeoutSeconds],
  ] as const) {
    if (!/^\d{0,9}$/.test(part)) return { fault: `needs a whole number as its ${name}` }
  }
  return {
    value: {
      protocol,
      ...(port !== '' && { port: Number(port) }),
      ...(timeoutSeconds !== '' && { timeoutSeconds: Number(timeoutSeconds) }),
    },
  }
}

const showQuery = (text: string): string => {
  const { protocol, port, timeoutSeconds } = readQuery(text)
  if (text === '') return 'None: GET /readyz at port 8080, if the server has probes'
  const at = port === '' ? '' : ` at port ${port}`
  return `${protocol}${at}${timeoutSeconds === '' ? '' : `, timeout ${timeoutSeconds} s`}`
}

type Query = { readonly protocol: string; readonly port?: number; readonly timeoutSeconds?: number }

const forms: Readonly<Record<Kind, Form>> = {
  text: plain,
  long: plain,
  choice: plain,
  number: {
    write: plain.write,
    parse: (text) => {
      const trimmed = text.trim()
      if (trimmed === '') return { value: undefined }
      return /^\d{1,9}(\.\d{1,9})?$/.test(trimmed) ? { value: Number(trimmed) } : { fault: 'must be a number' }
    },
  },
  flag: {
    write: plain.write,
    parse: (text) => ({ value: text === 'true' }),
    show: (text) => (text === 'true' ? 'Yes' : 'No'),
  },
  pairs: { write: writePairs, parse: parsePairs },
  lines: { write: (value) => ((value ?? []) as string[]).map((each) => toPart(each)).join('\n'), parse: parseLines },
  build: {
    write: (value) => {
      const { channelId = '', tag = '', content } = (value ?? {}) as Build
      return writeBuild({ channelId, tag, contentId: content?.id ?? '' })
    },
    parse: parseBuild,
    show: showBuild,
  },
  query: {
    write: (value) => {
      const { protocol = '', port = '', timeoutSeconds = '' } = (value ?? {}) as Partial<Query>
      return writeQuery({ protocol, port: String(port), timeoutSeconds: String(timeoutSeconds) })
    },
    parse: parseQuery,
    show: showQuery,
  },
  timeZone: words,
  cron: words,
  json: {
    write: (value) => escapeInvisible(JSON.stringify(value, null, 2)),
    parse: (text) => {
      const value = parseJson(text)
      return value === undefined ? { fault: 'is not JSON' } : { value }
    },
  },
}

/** Returns the text of a value. */
export const writeValue = (kind: Kind, value: unknown): string => forms[kind].write(value)
/** Returns the value of a text, or its fault. */
export const parseText = (kind: Kind, text: string): Parsed => forms[kind].parse(text)
/** Returns a text of a setting for reading. */
export const showText = (kind: Kind, text: string): string => forms[kind].show?.(text) ?? text
