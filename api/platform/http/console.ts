import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context as HonoContext } from 'hono'
import { type Answerable, answer } from './answer.ts'
import { isNamed } from './entityTag.ts'
import { Problem } from './problem.ts'

/** The address of the console. Every path of its pages begins with it. */
export const consolePath = '/console/'

const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
  ['identity', ''],
] as const
type Encoding = (typeof encodings)[number][0]

type ConsoleFile = {
  readonly type: string
  readonly bodies: ReadonlyMap<Encoding, { readonly bytes: Buffer<ArrayBuffer>; readonly etag: string }>
}
/** The files of the console by path from its address, in memory. It is empty if they were not built. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

const page = 'index.html'
const assets = 'assets/'

/** A bundle has the files beside it. The sources use those of `npm run build`. */
const ownFolder = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : 'console', import.meta.url),
)

/** Reads the page of the console and its assets. Returns no files if the console was not built. */
export const readConsole = (folder = ownFolder): ConsoleFiles => {
  if (![page, assets].every((name) => existsSync(join(folder, name)))) return new Map()
  const names = readdirSync(join(folder, assets)).map((name) => `${assets}${name}`)
  return new Map([page, ...names].flatMap((name) => readConsoleFile(folder, name)))
}

const readConsoleFile = (folder: string, name: string): [string, ConsoleFile][] => {
  const type = types[extname(name)]
  if (type === undefined) return []
  const bodies = encodings.flatMap(([encoding, suffix]) => {
    const file = join(folder, `${name}${suffix}`)
    if (!existsSync(file)) return []
    const bytes = readFileSync(file)
    return [[encoding, { bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` }] as const]
  })
  return [[name, { type, bodies: new Map(bodies) }]]
}

/**
 * The page may load its own scripts, styles and pictures, and connect to its own origin, sockets included. No text can become a
 * script: there is no policy of trusted types.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const common = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
}

/**
 * Serves a file of the console. Paths that are no asset get the page, which shows what they name. Throws a 404 for an asset that
 * does not exist, and without files.
 */
export const serveConsole = (files: ConsoleFiles, c: Answerable & Pick<HonoContext, 'req'>): Response => {
  const path = c.req.path.slice(consolePath.length)
  const isAsset = path.startsWith(assets)
  const file = files.get(isAsset ? path : page)
  if (file === undefined) throw new Problem('not_found', files.size === 0 ? notBuilt : noSuchFile)
  const encoding = chooseEncoding(c.req.header('accept-encoding'), [...file.bodies.keys()])
  const body = file.bodies.get(encoding)
  if (body === undefined) throw new Problem('not_found', noSuchFile)
  const headers = {
    ...common,
    vary: [c.get('headers').vary, 'accept-encoding'].filter(Boolean).join(', '),
    'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: body.etag,
  }
  if (isNamed(c.req.header('if-none-match'), body.etag)) return answer(c, null, { status: 304, headers })
  const content = { 'content-type': file.type, ...(encoding !== 'identity' && { 'content-encoding': encoding }) }
  return answer(c, body.bytes, { headers: { ...headers, ...content } })
}

/** The message for the log and for visitors if there are no files. */
export const notBuilt = 'This API has no files of the console. Run npm run build and start the API again.'
const noSuchFile = 'The console has no such file. It was updated: load the page again.'

/**
 * Returns the encoding with the highest weight in Accept-Encoding (RFC 9110, section 12.5.3); the first offered one of several.
 * Without an accepted one it is `identity`.
 */
export const chooseEncoding = <Offered extends string>(
  header: string | undefined,
  offered: readonly Offered[],
): Offered | 'identity' => {
  const weights = new Map((header ?? '').toLowerCase().split(',').map(toWeight))
  const weightOf = (encoding: string): number =>
    weights.get(encoding) ?? weights.get('*') ?? (encoding === 'identity' ? Number.MIN_VALUE : 0)
  const [best] = offered.filter((each) => weightOf(each) > 0).toSorted((a, b) => weightOf(b) - weightOf(a))
  return best ?? 'identity'
}

const toWeight = (text: string): [string, number] => {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((each) => each.startsWith('q='))
  return [name, weight === undefined ? 1 : Number(weight.slice(2)) || 0]
}
