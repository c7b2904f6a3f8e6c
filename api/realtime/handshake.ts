import { ticketHeader } from '#api/domain/access/scope.ts'
import { decodeBase58 } from './base58.ts'

/** The subprotocol that clients may offer in addition to the encoded headers. The server then selects it. */
export const subprotocol = 'orrery.v1'
/** Decoding takes quadratic time, so the length is limited. A token with several permissions fits. */
const maxHeaderLength = 2_048
/** A token of RFC 7230, section 3.2.6. */
const token = /^[\w!#$%&'*+.^`|~-]+$/

/** The accepted header names, with their aliases. */
const names: Readonly<Record<string, string>> = {
  'x-api-key': 'x-api-key',
  authorization: 'authorization',
  [ticketHeader]: ticketHeader,
  'x-svc-organization-id': 'x-svc-organization-id',
  'x-svc-organization': 'x-svc-organization-id',
  'x-svc-project-id': 'x-svc-project-id',
  'x-svc-project': 'x-svc-project-id',
  'x-svc-world-id': 'x-svc-world-id',
  'x-svc-world': 'x-svc-world-id',
}

/** Headers by their lower-case names. */
type Headers = Readonly<Record<string, string>>
/** The merged headers of an upgrade request and the subprotocol to select, or the error of the protocol header. */
export type Handshake = { readonly headers: Headers; readonly answer: string | undefined } | { readonly fault: string }

/**
 * Parses `Sec-WebSocket-Protocol`, in which browsers pass headers: lines of `name:value`, encoded together in base58,
 * alone or beside `orrery.v1`. If the list stands alone, the server selects the list itself, because a browser fails the
 * connection if the server selects nothing. Errors never quote the value, since it contains a credential.
 */
export const readHandshake = (protocolHeader: string | undefined, headers: Headers): Handshake => {
  if (protocolHeader === undefined || protocolHeader.trim() === '') return { headers, answer: undefined }
  if (protocolHeader.length > maxHeaderLength) return { fault: `is longer than ${maxHeaderLength} characters` }
  const offered = protocolHeader.split(',').map((each) => each.trim())
  if (!offered.every((each) => token.test(each))) return { fault: 'is not a valid list of subprotocols' }
  const lists = offered.filter((each) => each !== subprotocol)
  const named = offered.length - lists.length
  const [list] = lists
  if (lists.length > 1 || named > 1)
    return { fault: `may contain ${subprotocol} and one base58 list, each at most once` }
  const answer = named > 0 ? subprotocol : list
  return list === undefined ? { headers, answer } : merged(list, headers, answer)
}

const merged = (list: string, headers: Headers, answer: string | undefined): Handshake => {
  const given = readList(list)
  if ('fault' in given) return given
  const conflict = Object.keys(given.headers).find(
    (name) => headers[name] !== undefined && headers[name] !== given.headers[name],
  )
  if (conflict !== undefined) return { fault: `contains a different value of ${conflict} than the request header` }
  return { headers: { ...headers, ...given.headers }, answer }
}

const readList = (list: string): { headers: Headers } | { fault: string } => {
  const bytes = decodeBase58(list)
  const text = bytes && decodeUtf8(bytes)
  if (text === undefined) return { fault: 'is not a base58-encoded list of headers' }
  const found = new Map<string, string>()
  for (const line of text.split(/\r?\n/)) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = Object.hasOwn(names, line.slice(0, colon).trim().toLowerCase())
      ? names[line.slice(0, colon).trim().toLowerCase()]
      : undefined
    const value = line.slice(colon + 1).trim()
    if (colon < 0 || name === undefined) return { fault: 'contains a line that is not a supported header' }
    if (found.has(name)) return { fault: `contains ${name} twice` }
    if (!/^[\x20-\x7e]*$/.test(value)) return { fault: `contains an invalid value of ${name}` }
    found.set(name, value)
  }
  // An empty value counts as absent: pages send the header of a scope even if they have no id for it.
  return { headers: Object.fromEntries([...found].filter(([, value]) => value !== '')) }
}

const decodeUtf8 = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}
