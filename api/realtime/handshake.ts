import base58 from 'bs58'

/** The subprotocol of clients that offer it beside their credential; it alone is answered then. */
export const subprotocol = 'orrery.v1'
/** Decoding takes time that grows with the square of the length: 2 KiB take about two milliseconds. */
const maxHeaderLength = 2_048
/** RFC 7230, 3.2.6: what a subprotocol may consist of. */
const token = /^[\w!#$%&'*+.^`|~-]+$/

/** The headers that may come in the list, by each name that is accepted for them. */
const names: Readonly<Record<string, string>> = {
  'x-api-key': 'x-api-key',
  authorization: 'authorization',
  'x-svc-organization-id': 'x-svc-organization-id',
  'x-svc-organization': 'x-svc-organization-id',
  'x-svc-project-id': 'x-svc-project-id',
  'x-svc-project': 'x-svc-project-id',
  'x-svc-world-id': 'x-svc-world-id',
  'x-svc-world': 'x-svc-world-id',
}

/** Headers by their lower-case names. */
type Headers = Readonly<Record<string, string>>
/** What an upgrade says of itself: its headers with those of the list, and the subprotocol to answer; or its fault. */
export type Handshake = { readonly headers: Headers; readonly answer: string | undefined } | { readonly fault: string }

/**
 * Reads `Sec-WebSocket-Protocol`, by which browsers pass headers: lines of `name:value`, together in base58, alone or
 * beside `orrery.v1`. A list that stands alone is answered by itself, since a browser fails without an answer. Faults
 * never quote what was given: it holds a credential.
 */
export const readHandshake = (protocolHeader: string | undefined, headers: Headers): Handshake => {
  if (protocolHeader === undefined || protocolHeader.trim() === '') return { headers, answer: undefined }
  if (protocolHeader.length > maxHeaderLength) return { fault: `is longer than ${maxHeaderLength} characters` }
  const offered = protocolHeader.split(',').map((each) => each.trim())
  if (!offered.every((each) => token.test(each))) return { fault: 'is not a list of subprotocols' }
  const lists = offered.filter((each) => each !== subprotocol)
  const named = offered.length - lists.length
  const [list] = lists
  if (lists.length > 1 || named > 1) return { fault: `may name ${subprotocol} and one list in base58, each once` }
  const answer = named > 0 ? subprotocol : list
  return list === undefined ? { headers, answer } : merged(list, headers, answer)
}

const merged = (list: string, headers: Headers, answer: string | undefined): Handshake => {
  const given = readList(list)
  if ('fault' in given) return given
  const conflict = Object.keys(given.headers).find(
    (name) => headers[name] !== undefined && headers[name] !== given.headers[name],
  )
  if (conflict !== undefined) return { fault: `gives another ${conflict} than the header of that name` }
  return { headers: { ...headers, ...given.headers }, answer }
}

const readList = (list: string): { headers: Headers } | { fault: string } => {
  const bytes = base58.decodeUnsafe(list)
  const text = bytes && decodeUtf8(bytes)
  if (text === undefined) return { fault: 'is not a list of headers in base58' }
  const found = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = Object.hasOwn(names, line.slice(0, colon).trim().toLowerCase())
      ? names[line.slice(0, colon).trim().toLowerCase()]
      : undefined
    const value = line.slice(colon + 1).trim()
    if (colon < 0 || name === undefined) return { fault: 'has a line that is no header known here' }
    if (found.has(name)) return { fault: `gives ${name} twice` }
    if (!/^[\x20-\x7e]*$/.test(value)) return { fault: `has a value of ${name} that no header can have` }
    found.set(name, value)
  }
  // An empty value is a header that was not given: pages fill in a scope that they have none of.
  return { headers: Object.fromEntries([...found].filter(([, value]) => value !== '')) }
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
