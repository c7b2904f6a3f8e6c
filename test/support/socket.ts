import base58 from 'bs58'
import { WebSocket } from 'ws'
import { rootApiKey } from './processes.ts'
import { eventually } from './wait.ts'

/** A message of the server. Each kind has some of these members. */
export type Heard = {
  readonly userId?: string
  readonly resource?: { readonly type: string; readonly id: string }
  readonly data?: Record<string, unknown>
  readonly version?: string
  readonly warning?: string
  readonly error?: string
  readonly message?: string
}

/** The headers of a connection. */
export type SocketScope = {
  organizationId?: string
  projectId?: string
  worldId?: string
  apiKey?: string
  token?: string
}

/** Returns the headers of a scope. */
export const scopeHeaders = ({ organizationId, projectId, worldId, apiKey, token }: SocketScope) => ({
  ...(token === undefined ? { 'x-api-key': apiKey ?? rootApiKey } : { authorization: `Bearer ${token}` }),
  ...(organizationId ? { 'x-svc-organization-id': organizationId } : {}),
  ...(projectId ? { 'x-svc-project-id': projectId } : {}),
  ...(worldId ? { 'x-svc-world-id': worldId } : {}),
})

/** Returns the subprotocol that browsers send: lines of `name:value` in base58. */
export const listOf = (headers: Record<string, string>): string =>
  base58.encode(
    Buffer.from(
      Object.entries(headers)
        .map(([name, value]) => `${name}:${value}`)
        .join('\n'),
    ),
  )

/** Returns the WebSocket URL of an API. */
export const realtimeUrl = (apiUrl: string): string => `${apiUrl.replace(/^http/, 'ws')}/api/realtime/connect/`

/** The HTTP response of a refused handshake. */
export type Refusal = { status: number; headers: Record<string, unknown>; body: Record<string, unknown> }

/** Tries to connect and returns the response of the server, which must not be a 101. */
export const refusalOf = (
  apiUrl: string,
  {
    headers = {},
    protocols = [],
    path = '',
    localAddress = '127.0.0.1',
  }: { headers?: Record<string, string>; protocols?: string[]; path?: string; localAddress?: string },
): Promise<Refusal> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(path === '' ? realtimeUrl(apiUrl) : `${apiUrl.replace(/^http/, 'ws')}${path}`, protocols, {
      headers,
      localAddress,
    })
    ws.on('open', () => {
      ws.terminate()
      reject(new Error('the server admitted it'))
    })
    ws.on('error', reject)
    ws.on('unexpected-response', (_, response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const body = text.startsWith('{') ? JSON.parse(text) : { text }
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body })
      })
    })
  })

/** Opens a connection that records all received messages. */
export const openSocket = async (
  apiUrl: string,
  scope: SocketScope,
  options: { protocols?: string[]; headers?: Record<string, string>; localAddress?: string } = {},
) => {
  const { protocols = [], headers = scopeHeaders(scope), localAddress = '127.0.0.1' } = options
  const ws = new WebSocket(realtimeUrl(apiUrl), protocols, { headers, localAddress, perMessageDeflate: false })
  const heard: Heard[] = []
  let closed: { code: number; reason: string } | undefined
  ws.on('message', (data) => heard.push(JSON.parse(String(data))))
  ws.on('close', (code, reason) => {
    closed = { code, reason: String(reason) }
  })
  await new Promise<void>((resolve, reject) => {
    ws.once('open', () => resolve())
    ws.once('error', reject)
  })
  ws.on('error', () => undefined)
  const send = (message: unknown): void => ws.send(typeof message === 'string' ? message : JSON.stringify(message))
  const updatesOf = (id: string): Heard[] => heard.filter(({ resource, data }) => data && resource?.id === id)
  return {
    ws,
    heard,
    send,
    updatesOf,
    subscribe: (type: string, id: string): void => send({ action: 'subscribe', resource: { type, id } }),
    unsubscribe: (type: string, id: string): void => send({ action: 'unsubscribe', resource: { type, id } }),
    /** Waits for a message that was or will be received. */
    hears: (what: string, fits: (each: Heard) => boolean): Promise<Heard> =>
      eventually(`${what}; heard ${JSON.stringify(heard).slice(-500)}`, async () => heard.find(fits)),
    closes: (): Promise<{ code: number; reason: string }> =>
      eventually('the end of the connection', async () => closed),
    isOpen: (): boolean => ws.readyState === WebSocket.OPEN,
    terminate: (): void => ws.terminate(),
  }
}
