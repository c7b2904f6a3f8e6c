import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { openPki } from '#dev/kubernetes/pki.ts'

/** The point at which a writer is killed: before its write is forwarded, before the response, or after it. */
export const points = ['A', 'B', 'C'] as const
export type Point = (typeof points)[number]

/** A write that reached the proxy. `status` is 0 if it was not forwarded. */
export type Write = {
  readonly namespace: string
  /** `verb resource[/subresource] name #occurrence`; the occurrence counts the effective ones of a namespace. */
  readonly signature: string
  readonly verb: string
  readonly resource: string
  readonly name: string
  readonly status: number
  /** The times at which its request arrived, and its response was there. */
  readonly receivedMs: number
  readonly atMs: number
}

/**
 * A write and the point within it at which `act` is called once. `hold` delays the write until its promise has resolved, and
 * `holdAnswer` the response to an accepted write.
 */
export type Trigger = {
  readonly namespace: string
  readonly signature: string
} & (
  | { readonly point: Point; readonly act: () => void }
  | { readonly point: 'hold' | 'holdAnswer'; readonly act: () => Promise<void> }
)

/** The time between the response and the kill. No request is forwarded in that time. */
const answeredMs = 5

/**
 * Creates a proxy between one process and the API server. It terminates TLS on both sides, so it sees every request. It
 * records each write except those of leases, which depend on time, and can kill its writer at one of them. With a label
 * selector, the process sees only objects with those labels. `nameOf` returns the name of an object in a signature, for
 * names that differ between runs.
 */
export const createFaultProxy = async (options: {
  kubeconfig: string
  labelSelector?: string
  nameOf?: (name: string) => string
}) => {
  const { nameOf: titleOf = (name) => name } = options
  const dir = mkdtempSync(join(tmpdir(), 'orrery-proxy-'))
  const upstream = readUpstream(options.kubeconfig)
  const writes: Write[] = []
  const requested = new Set<string>()
  const reads: string[] = []
  const counts = new Map<string, number>()
  const sockets = new Set<TLSSocket>()
  let trigger: Trigger | undefined
  let severed = false
  let held: Promise<void> = Promise.resolve()
  let heldRequests: { resource: string; released: Promise<void> } | undefined

  const fire = (): void => {
    const fired = trigger
    trigger = undefined
    severed = true
    fired?.act()
  }
  /** Forgets the trigger, and waits until its action has ended. */
  const actHere = async (): Promise<void> => {
    const reached = trigger
    trigger = undefined
    await reached?.act()
  }
  /** Delays a write while its resource is held back, or until the action of the trigger at this write has ended. */
  const waitBefore = async (resource: string, isTrigger: boolean): Promise<void> => {
    if (isTrigger) await actHere()
    if (heldRequests?.resource === resource) await heldRequests.released
  }
  /** Delays a response while responses are held back, or until the action of the trigger at this write has ended. */
  const waitAfter = async (isTrigger: boolean): Promise<void> => {
    if (isTrigger) await actHere()
    await held
  }
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (severed) return void request.socket.destroy()
    const target = parsePath(request.url ?? '/')
    requested.add(`${verbOf(request, target)} ${resourceOf(target)}${isMetrics(request) ? '.metrics.k8s.io' : ''}`)
    if (!isRecorded(request, target)) {
      reads.push([verbOf(request, target), resourceOf(target), target.namespace, target.name].join(' '))
      return pass(upstream, request, response, scoped(request, target, options.labelSelector))
    }
    const receivedMs = performance.now()
    const body = await readAll(request)
    const what = describe(request, target, body, titleOf)
    const at = (point: Trigger['point'], occurrence: number): boolean =>
      trigger?.point === point &&
      trigger.namespace === target.namespace &&
      trigger.signature === `${what.title} #${occurrence}`
    const countKey = `${target.namespace} ${what.title}`
    const next = (counts.get(countKey) ?? 0) + 1
    const note = (status: number, occurrence: number): void => {
      const { verb, resource, name } = what
      const { namespace } = target
      const signature = `${what.title} #${occurrence}`
      writes.push({ namespace, signature, verb, resource, name, status, receivedMs, atMs: performance.now() })
    }
    if (at('A', next)) {
      note(0, next)
      fire()
      return void request.socket.destroy()
    }
    await waitBefore(what.resource, at('hold', next))
    const answer = await forward(upstream, request, body)
    const effective = answer.status < 300
    if (effective) counts.set(countKey, next)
    note(answer.status, next)
    if (effective && at('B', next)) {
      fire()
      return void request.socket.destroy()
    }
    await waitAfter(effective && at('holdAnswer', next))
    const last = effective && at('C', next)
    if (last) severed = true
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body, () => {
      if (last) setTimeout(fire, answeredMs)
    })
  }
  const pki = await openPki(dir, Date.now())
  const pair = await pki.server('fault-proxy', ['127.0.0.1'])
  const server = createServer({ key: readFileSync(pair.keyFile), cert: readFileSync(pair.certFile) })
  server.on('request', (request, response) => {
    handle(request, response).catch(() => request.socket.destroy())
  })
  server.on('secureConnection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const kubeconfig = join(dir, 'kubeconfig')
  writeFileSync(kubeconfig, upstream.kubeconfigThrough(`https://127.0.0.1:${port}`, readFileSync(pki.caFile)), {
    mode: 0o600,
  })
  return {
    kubeconfig,
    /** Returns all writes so far, including refused ones. */
    writes: (namespace?: string): readonly Write[] =>
      namespace === undefined ? writes : writes.filter((write) => write.namespace === namespace),
    /** Returns all reads and dry runs so far, as `verb resource namespace name`, and all requests of leases. */
    reads: (): readonly string[] => reads,
    /**
     * Returns the verb and the resource, with its subresource, of each request so far, as roles name them. Pods of metrics.k8s.io have
     * their group in the name.
     */
    requested: (): ReadonlySet<string> => requested,
    /** Holds back writes of a resource until the returned function is called. */
    holdRequests: (resource: string): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      heldRequests = { resource, released: promise }
      return () => {
        heldRequests = undefined
        resolve()
      }
    },
    /** Holds back the responses to writes until the returned function is called. */
    holdAnswers: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return resolve
    },
    /** Sets the trigger. Once its point is reached, nothing is forwarded until `mend` is called. */
    arm: (next: Trigger): void => {
      trigger = next
    },
    /** Forgets a trigger that has not fired. */
    disarm: (): void => {
      trigger = undefined
    },
    /** Forwards nothing until `mend` is called. */
    sever: (): void => {
      severed = true
    },
    mend: (): void => {
      for (const socket of sockets) socket.destroy()
      severed = false
    },
    remove: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
      upstream.agent.destroy()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Returns the writes that the API server accepted. */
export const effective = (writes: readonly Write[]): Write[] =>
  writes.filter(({ status }) => status >= 200 && status < 300)

/** Reports whether a request is for the group that also has pods. */
const isMetrics = ({ url }: IncomingMessage): boolean => url?.startsWith('/apis/metrics.k8s.io/') === true

type Target = { namespace: string; resource: string; name: string; subresource: string; query: URLSearchParams }
type Upstream = ReturnType<typeof readUpstream>

const readUpstream = (file: string) => {
  const config = JSON.parse(readFileSync(file, 'utf8'))
  const { cluster } = config.clusters[0]
  const { user } = config.users[0]
  const decoded = (data: string): Buffer => Buffer.from(data, 'base64')
  return {
    url: new URL(cluster.server),
    agent: new Agent({
      keepAlive: true,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    }),
    kubeconfigThrough: (server: string, ca: Buffer): string => {
      const through = { server, 'certificate-authority-data': ca.toString('base64') }
      return JSON.stringify({ ...config, clusters: [{ ...config.clusters[0], cluster: through }] })
    },
  }
}

const parsePath = (url: string): Target => {
  const { pathname, searchParams: query } = new URL(url, 'https://server')
  const parts = pathname.split('/').filter(Boolean).map(decodeURIComponent)
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3)
  const namespaced = rest[0] === 'namespaces' && rest.length > 2
  const [resource = '', name = '', subresource = ''] = namespaced ? rest.slice(2) : rest
  // A write of a namespace counts as a write in it.
  const namespace = namespaced ? (rest[1] ?? '') : resource === 'namespaces' ? name : ''
  return { namespace, resource, name, subresource, query }
}

/** Reports whether a request is a write that is recorded. A dry run changes nothing. */
const isRecorded = ({ method }: IncomingMessage, { resource, query }: Target): boolean =>
  method !== 'GET' && resource !== 'leases' && !query.has('dryRun')

const scoped = (request: IncomingMessage, target: Target, labelSelector: string | undefined): string => {
  const url = request.url ?? '/'
  const isCommon = target.resource === 'leases' || target.resource === 'nodes'
  const isList = request.method === 'GET' && target.name === ''
  if (labelSelector === undefined || !isList || isCommon) return url
  const asked = target.query.get('labelSelector')
  target.query.set('labelSelector', asked === null ? labelSelector : `${asked},${labelSelector}`)
  return `${url.split('?')[0]}?${target.query}`
}

/** Returns the verb that a role must have for a request. */
const verbOf = ({ method = '' }: IncomingMessage, { name, query }: Target): string => {
  if (method !== 'GET') return verbs[method] ?? 'unknown'
  if (query.get('watch') !== null) return 'watch'
  return name === '' ? 'list' : 'get'
}

const resourceOf = ({ resource, subresource }: Target): string => [resource, subresource].filter(Boolean).join('/')

const verbs: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

const describe = (request: IncomingMessage, target: Target, body: Buffer, titleOf: (name: string) => string) => {
  const isApply = request.headers['content-type']?.includes('apply-patch') === true
  const verb = isApply ? 'apply' : (verbs[request.method ?? ''] ?? 'unknown')
  const resource = resourceOf(target)
  const name = titleOf(nameOf(target, body))
  return { verb, resource, name, title: `${verb} ${resource} ${name}` }
}

/** Events have random names, so they are identified by their object and reason. */
const nameOf = (target: Target, body: Buffer): string => {
  if (target.resource === 'events' && target.name !== '') return target.name.replace(/\.[0-9a-f]+$/, '')
  if (target.name !== '') return target.name
  const sent = JSON.parse(body.toString('utf8'))
  return target.resource === 'events' ? `${sent.regarding.name}:${sent.reason}` : sent.metadata.name
}

const readAll = async (stream: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const send = (upstream: Upstream, request: IncomingMessage, path: string) =>
  httpsRequest({
    host: upstream.url.hostname,
    port: upstream.url.port,
    path,
    method: request.method,
    headers: { ...request.headers, host: upstream.url.host },
    agent: upstream.agent,
  })

/** Streams a request and its response, since the response to a watch does not end. */
const pass = (upstream: Upstream, request: IncomingMessage, response: ServerResponse, path: string): Promise<void> =>
  new Promise((resolve) => {
    const far = send(upstream, request, path)
    const end = (): void => {
      far.destroy()
      response.destroy()
      resolve()
    }
    far.on('error', end)
    far.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
      answer.on('error', end)
      answer.pipe(response)
    })
    response.on('close', () => {
      if (!response.writableFinished) far.destroy()
      resolve()
    })
    request.pipe(far)
  })

const forward = (upstream: Upstream, request: IncomingMessage, body: Buffer) =>
  new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
    const far = send(upstream, request, request.url ?? '/')
    far.on('error', reject)
    far.on('response', (answer) => {
      readAll(answer).then(
        (bytes) => resolve({ status: answer.statusCode ?? 502, headers: answer.headers, body: bytes }),
        reject,
      )
    })
    far.end(body)
  })
