import { readFile } from 'node:fs/promises'
import { type ExecCredential, type ExecPlugin, runExecPlugin } from './execPlugin.ts'

/** Bytes that stand in the kubeconfig itself or in a file of their own, which may change while we run. */
export type Source = { readonly bytes: Buffer } | { readonly file: string }

/** One cluster and one user, resolved from a kubeconfig or a pod's service account. */
export type Connection = {
  readonly server: string
  readonly ca?: Source | undefined
  readonly cert?: Source | undefined
  readonly key?: Source | undefined
  readonly token?: Source | undefined
  readonly basic?: string | undefined
  readonly exec?: ExecPlugin | undefined
  readonly impersonate?: string | undefined
  readonly servername?: string | undefined
  readonly insecure?: boolean | undefined
}

/** What a TLS connection needs: trust, and a client certificate where there is one. */
export type TlsOptions = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly servername?: string
  readonly rejectUnauthorized?: false
}

/** Where the API server is and how to be somebody there. */
export type Credentials = {
  /** The server's URL, without a slash at its end. */
  readonly server: string
  /** The same object for as long as nothing in it changes, so that connections can be kept by it. */
  readonly tls: () => Promise<TlsOptions>
  /** Headers that authenticate a request; asked for each time, since tokens rotate. */
  readonly headers: () => Promise<Record<string, string>>
  /** Says that the server did not accept them: they are read anew for the next request. */
  readonly refused: () => void
}

/** Files are read again this often: a rotated token or authority is taken up long before the old one ends. */
const freshMs = 10_000
/** A refusal that comes so soon after a reading was on its way before it. */
const settledMs = 1_000
/** A plugin's token is replaced this long before it ends. */
const expiryMarginMs = 10_000

type Identity = { readonly tls: TlsOptions; readonly headers: Record<string, string> }

/** Credentials that follow their files and their plugin. A fault of either rejects the call that needed them. */
export const createCredentials = (
  connection: Connection,
  monotonic: () => number = () => performance.now(),
): Credentials => {
  let held: { identity: Promise<Identity>; untilMs: number } | undefined
  let lastTls: TlsOptions = {}
  let exec: ExecCredential | undefined

  const read = async (): Promise<Identity> => {
    if (connection.exec !== undefined && (exec === undefined || exec.expiresAtMs - expiryMarginMs < Date.now())) {
      exec = await runExecPlugin(connection.exec)
    }
    const tls = await readTls(connection, exec)
    if (JSON.stringify(tls) !== JSON.stringify(lastTls)) lastTls = tls
    const token = exec?.token ?? (await contents(connection.token))?.trim()
    return {
      tls: lastTls,
      headers: {
        ...(token === undefined ? basic(connection.basic) : { authorization: `Bearer ${token}` }),
        ...(connection.impersonate === undefined ? {} : { 'impersonate-user': connection.impersonate }),
      },
    }
  }
  const current = (): Promise<Identity> => {
    if (held !== undefined && monotonic() < held.untilMs) return held.identity
    const identity = read()
    held = { identity, untilMs: monotonic() + freshMs }
    identity.catch(() => {
      if (held?.identity === identity) held = undefined
    })
    return identity
  }
  return {
    server: connection.server,
    tls: async () => (await current()).tls,
    headers: async () => (await current()).headers,
    refused: () => {
      if (held !== undefined && monotonic() < held.untilMs - freshMs + settledMs) return
      held = undefined
      exec = undefined
    },
  }
}

const readTls = async (connection: Connection, exec: ExecCredential | undefined): Promise<TlsOptions> => {
  const { servername, insecure } = connection
  const ca = await contents(connection.ca)
  const cert = exec?.cert ?? (await contents(connection.cert))
  const key = exec?.key ?? (await contents(connection.key))
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
    ...(servername === undefined ? {} : { servername }),
    ...(insecure ? { rejectUnauthorized: false } : {}),
  }
}

const contents = async (source: Source | undefined): Promise<string | undefined> => {
  if (source === undefined) return undefined
  return 'file' in source ? readFile(source.file, 'utf8') : source.bytes.toString('utf8')
}

const basic = (pair: string | undefined): Record<string, string> =>
  pair === undefined ? {} : { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
