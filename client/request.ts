import type { AnyInput, Operation } from './types.ts'

/** The bodies that `fetch` accepts both in browsers and in Node. */
type Body = Blob | FormData | URLSearchParams | Uint8Array<ArrayBuffer> | string

/** Returns the path and query of a request. Throws a TypeError for a path parameter that would change the path. */
export const targetOf = ({ path }: Operation, { params = {}, query = {} }: AnyInput): string => {
  const filled = path.replace(/\{([^}]*)\}/g, (_, name: string) => segment(name, params[name]))
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value]
        .flat()
        .filter((each) => each !== undefined && each !== null)
        .map((each) => [name, String(each)]),
    ),
  ).toString()
  return search === '' ? filled : `${filled}?${search}`
}

/** URL parsers resolve `.` and `..` even when they are encoded, and an empty segment changes the path too. */
const segment = (name: string, value: unknown): string => {
  const text = value === undefined || value === null ? '' : String(value)
  if (['', '.', '..'].includes(text)) throw new TypeError(`The path parameter ${name} must not be '${text}'.`)
  return encodeURIComponent(text)
}

/** Returns the headers and the body of a request. Bytes and forms are sent unchanged, everything else as JSON. */
export const contentOf = (
  { body: mediaTypes = [] }: Operation,
  { headers = {}, body }: AnyInput,
): { headers: Headers; body?: Body } => {
  const all = new Headers({ accept: 'application/json, */*;q=0.5' })
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, String(value))
  if (body === undefined) return { headers: all }
  const sent = encoded(body, mediaTypes)
  const type = sent.type || mediaTypes.find((each) => !/[*]|^multipart\//.test(each))
  if (!sent.setsItsType && type && !all.has('content-type')) all.set('content-type', type)
  return { headers: all, body: sent.body }
}

/** `fetch` sets the content type of a form itself, with its boundary. */
const encoded = (
  body: unknown,
  mediaTypes: readonly string[],
): { body: Body; type?: string; setsItsType?: boolean } => {
  if (body instanceof FormData || body instanceof URLSearchParams) return { body, setsItsType: true }
  if (body instanceof Blob) return { body, type: body.type }
  if (isBytes(body)) return { body }
  const json = mediaTypes.find((type) => /^application\/([\w.-]+\+)?json/i.test(type))
  if (typeof body === 'string' && json === undefined) return { body }
  return { body: JSON.stringify(body), type: json ?? 'application/json' }
}

const isBytes = (body: unknown): body is Uint8Array<ArrayBuffer> => body instanceof Uint8Array
