import { readFile } from 'node:fs/promises'
import { withDefined } from '#shared/optional.ts'
import { type ClusterInfo, type ExecCredential, type ExecPlugin, runExecPlugin } from './execPlugin.ts'

/** Bytes from the kubeconfig itself, or the path of a file that may change while the process runs. */
export type Source = { readonly bytes: Buffer } | { readonly file: string }

/** The user that requests are made as, in place of the authenticated one (Kubernetes, "User impersonation"). */
export type Impersonation = {
  readonly user: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** A cluster and a user, resolved from a kubeconfig or a pod's service account. */
export type Connection = {
  readonly server: string
  readonly proxyUrl?: string | undefined
  readonly ca?: Source | undefined
  readonly cert?: Source | undefined
  readonly key?: Source | undefined
  readonly token?: string | undefined
  /** Takes precedence over `token`. While the file cannot be read, `token` is used, as in client-go. */
  readonly tokenFile?: string | undefined
  readonly basic?: string | undefined
  readonly exec?: ExecPlugin | undefined
  readonly impersonate?: Impersonation | undefined
  readonly servername?: string | undefined
  readonly insecure?: boolean | undefined
}

/** TLS options of a connection: the trusted authority, and the client certificate if there is one. */
export type TlsOptions = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
  readonly rejectUnauthorized?: false
}

/** Request headers; a header with several values is sent once for each. */
export type Headers = Readonly<Record<string, string | string[]>>

/** The address of an API server and the credentials of its client. */
export type Credentials = {
  /** The server's URL, without a trailing slash. */
  readonly server: string
  /** The URL of the proxy to connect through. */
  readonly proxyUrl?: string | undefined
  /** Returns the same object until a value in it changes, so that connections can be reused. */
  readonly tls: () => Promise<TlsOptions>
  /** Returns the headers that authenticate a request. Call it for each request, since tokens rotate. */
  readonly headers: () => Promise<Headers>
  /** Reports that the server refused the credentials: the next request reads them again. */
  readonly reportRefusal: () => void
}

/** Files are read again after this time: long before the previous token or authority expires. */
const maxAgeMs = 10_000
/** A refusal this soon after a read belongs to a request that was sent before it. */
const refusalGraceMs = 1_000
/** A plugin's token is replaced this long before it expires. */
const expiryMarginMs = 10_000

type Identity = { readonly tls: TlsOptions; readonly headers: Headers }

/** Creates credentials that follow their files and their plugin. A fault of either rejects the call that needs them. */
export const createCredentials = (
  connection: Connection,
  monotonic: () => number = () => performance.now(),
): Credentials => {
  let cached: { identity: Promise<Identity>; untilMs: number } | undefined
  let lastTls: TlsOptions = {}
  let exec: ExecCredential | undefined

  const read = async (): Promise<Identity> => {
    const ca = await readSource(connection.ca)
    if (connection.exec !== undefined && (exec === undefined || exec.expiresAtMs - expiryMarginMs < Date.now())) {
      exec = await runExecPlugin(connection.exec, toClusterInfo(connection, ca))
    }
    const tls = await readTls(connection, ca, exec)
    if (JSON.stringify(tls) !== JSON.stringify(lastTls)) lastTls = tls
    const token = exec?.token ?? (await readToken(connection))
    const authorization = token === undefined ? toBasic(connection.basic) : `Bearer ${token}`
    return { tls: lastTls, headers: { ...withDefined({ authorization }), ...toHeaders(connection.impersonate) } }
  }
  const current = (): Promise<Identity> => {
    if (cached !== undefined && monotonic() < cached.untilMs) return cached.identity
    const identity = read()
    cached = { identity, untilMs: monotonic() + maxAgeMs }
    identity.catch(() => {
      if (cached?.identity === identity) cached = undefined
    })
    return identity
  }
  return {
    server: connection.server,
    proxyUrl: connection.proxyUrl,
    tls: async () => (await current()).tls,
    headers: async () => (await current()).headers,
    reportRefusal: () => {
      if (cached !== undefined && monotonic() < cached.untilMs - maxAgeMs + refusalGraceMs) return
      cached = undefined
      exec = undefined
    },
  }
}

const readTls = async (
  { cert, key, servername, insecure }: Connection,
  ca: string | undefined,
  exec: ExecCredential | undefined,
): Promise<TlsOptions> => {
  const pair = { cert: exec?.cert ?? (await readSource(cert)), key: exec?.key ?? (await readSource(key)) }
  const isPair = pair.cert !== undefined && pair.key !== undefined
  const rejectUnauthorized = insecure ? (false as const) : undefined
  return withDefined({ ca, ...(isPair ? pair : {}), servername, rejectUnauthorized })
}

const readSource = async (source: Source | undefined): Promise<string | undefined> => {
  if (source === undefined) return undefined
  return 'file' in source ? readFile(source.file, 'utf8') : source.bytes.toString('utf8')
}

const readToken = async ({ token, tokenFile }: Connection): Promise<string | undefined> => {
  if (tokenFile === undefined) return token
  try {
    return (await readFile(tokenFile, 'utf8')).trim()
  } catch (error) {
    if (token === undefined) throw error
    return token
  }
}

const toBasic = (pair: string | undefined): string | undefined =>
  pair === undefined ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`

const toHeaders = (impersonate: Impersonation | undefined): Headers => {
  if (impersonate === undefined) return {}
  const { user, uid, groups, extra } = impersonate
  const extraHeaders = Object.entries(extra).map(([key, values]) => [
    `impersonate-extra-${escapeKey(key)}`,
    [...values],
  ])
  return {
    ...withDefined({
      'impersonate-user': user,
      'impersonate-uid': uid,
      'impersonate-group': groups.length === 0 ? undefined : [...groups],
    }),
    ...Object.fromEntries(extraHeaders),
  }
}

/** Percent-encodes the characters that a header name cannot hold (RFC 9110, 5.6.2), and the percent sign. */
const escapeKey = (key: string): string =>
  key.replace(/[^!#$&'*+\-.^_`|~0-9A-Za-z]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )

const toClusterInfo = ({ server, servername, insecure, proxyUrl }: Connection, ca: string | undefined): ClusterInfo =>
  withDefined({
    server,
    'tls-server-name': servername,
    'insecure-skip-tls-verify': insecure || undefined,
    'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
    'proxy-url': proxyUrl,
  })
