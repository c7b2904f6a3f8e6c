import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Credentials } from '../credentials.ts'

/** A request as it came in. */
export type Received = {
  method: string
  path: string
  query: Record<string, string>
  headers: IncomingMessage['headers']
  body: unknown
}

/** A scripted response. One that is not ended stays open. */
export type Answer = (response: ServerResponse) => void

/** Answers with JSON. */
export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Answers with a failure Status, as the API server does. */
export const refuse = (code: number, reason: string, headers: Record<string, string> = {}, details?: object): Answer =>
  json({ kind: 'Status', status: 'Failure', code, reason, message: `refused: ${reason}`, details }, code, headers)

/** Begins a stream with these pieces and leaves it open. */
export const openStream =
  (...pieces: (string | Buffer)[]): Answer =>
  (response) => {
    response.writeHead(200).flushHeaders()
    for (const piece of pieces) response.write(piece)
  }

/** Sends a stream of these pieces and ends it properly. */
export const endedStream =
  (...pieces: (string | Buffer)[]): Answer =>
  (response) => {
    openStream(...pieces)(response)
    response.end()
  }

/** Sends these pieces and closes the connection before the end of the stream. */
export const tornStream =
  (...pieces: string[]): Answer =>
  (response) => {
    response.writeHead(200).flushHeaders()
    response.write(pieces.join(''), () => response.destroy())
  }

/** Closes the connection without an answer. */
export const reset: Answer = (response) => response.destroy()

/** Never answers. */
export const silence: Answer = () => {}

/**
 * Starts a local server that answers from scripts, in order: one for lists, one for watches and one for all other
 * requests. After the end of its script, a watch stays open and any other request gets status 500.
 */
export const startScriptedServer = async (script: { lists?: Answer[]; watches?: Answer[]; others?: Answer[] }) => {
  const received: Received[] = []
  const streams: ServerResponse[] = []
  let connections = 0
  const left = {
    lists: [...(script.lists ?? [])],
    watches: [...(script.watches ?? [])],
    others: [...(script.others ?? [])],
  }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://server')
    let text = ''
    for await (const chunk of request) text += chunk
    const query = Object.fromEntries(url.searchParams)
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    received.push({ method: request.method ?? '', path: url.pathname, query, headers: request.headers, body })
    if (query.watch === 'true') {
      streams.push(response)
      ;(left.watches.shift() ?? openStream())(response)
    } else {
      const answers = url.pathname.endsWith('/things') && request.method === 'GET' ? left.lists : left.others
      ;(answers.shift() ?? json({ message: 'the script has ended' }, 500))(response)
    }
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const credentials: Credentials = {
    server: `http://127.0.0.1:${port}`,
    tls: async () => noTls,
    headers: async () => ({ authorization: 'Bearer sesame' }),
    reportRefusal: () => {},
  }
  return {
    credentials,
    received,
    /** Returns the number of connections that were opened. */
    connections: (): number => connections,
    lists: () =>
      received.filter(({ method, path, query }) => method === 'GET' && path.endsWith('/things') && !query.watch),
    watches: () => received.filter(({ query }) => query.watch === 'true'),
    /** Writes to the newest watch. */
    send: (...pieces: string[]) => {
      for (const piece of pieces) streams.at(-1)?.write(piece)
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

const noTls = {}
