import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Point } from '#test/support/faultProxy.ts'
import { createSplitter, createStatementReader, createTransactionTracker, type Message } from './messages.ts'

/**
 * A commit, a point within it, and the fault: the process is killed, or only its connection is cut. `act` is called once, when the
 * point is reached. A `hold` delays the commit until its promise has resolved.
 */
export type CommitTrigger = { readonly signature: string } & (
  | { readonly point: Point; readonly fault: 'kill' | 'cut'; readonly act: () => void }
  | { readonly point: 'hold'; readonly act: () => Promise<void> }
)

/** The time between the response and the fault. */
const answeredMs = 5

/**
 * Creates a proxy between one process and Postgres, without TLS. It recognises each commit that changes something: of a
 * transaction, or of a single statement outside of one. It can lose the connection before a commit is forwarded (A), after
 * Postgres has executed it but before the response (B), and after the response (C).
 */
export const createPostgresProxy = async (databaseUrl: string) => {
  const target = new URL(databaseUrl)
  const connections = new Set<ReturnType<typeof createConnection>>()
  const counts = new Map<string, number>()
  let commits: string[] = []
  let trigger: CommitTrigger | undefined
  let isSevered = false

  /** Counts a commit. Returns the point at which it is to fail, or for how long it is to wait, if any. */
  const note = (changes: readonly string[]): Point | Promise<void> | undefined => {
    const title = `commit ${changes.join(', ')}`
    const occurrence = (counts.get(title) ?? 0) + 1
    counts.set(title, occurrence)
    const signature = `${title} #${occurrence}`
    commits.push(signature)
    if (trigger?.signature !== signature) return undefined
    if (trigger.point !== 'hold') return trigger.point
    const { act } = trigger
    trigger = undefined
    return act()
  }
  const sever = (): void => {
    isSevered = true
    // Postgres rolls back what is open. The process itself is killed next.
    for (const connection of connections) connection.leave()
  }
  const server = createServer((near) => {
    if (isSevered) return near.destroy()
    const connection = createConnection(near, connect(Number(target.port), target.hostname), {
      note,
      fail: () => {
        const fired = trigger
        trigger = undefined
        if (fired === undefined || fired.point === 'hold') return
        if (fired.fault === 'kill') sever()
        else connection.cut()
        fired.act()
      },
    })
    connections.add(connection)
    near.on('close', () => connections.delete(connection))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const through = new URL(databaseUrl)
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as AddressInfo).port)
  const cutAll = (): void => {
    for (const connection of connections) connection.cut()
  }
  return {
    url: through.href,
    /** Begins a new list of commits, whose occurrences count from 1. */
    begin: (): void => {
      commits = []
      counts.clear()
    },
    /** Returns the signatures of the commits since `begin`: `commit insert worlds, update limits #occurrence`. */
    commits: (): readonly string[] => commits,
    arm: (next: CommitTrigger): void => {
      trigger = next
    },
    /** Forgets a trigger that has not fired. */
    disarm: (): void => {
      trigger = undefined
    },
    /** Ends all sessions, and forwards nothing until `mend` is called. */
    sever,
    mend: (): void => {
      cutAll()
      isSevered = false
    },
    remove: async (): Promise<void> => {
      cutAll()
      await new Promise((done) => server.close(done))
    },
  }
}

type Observer = { note(changes: readonly string[]): Point | Promise<void> | undefined; fail(): void }

/** Forwards one connection. Each query or Sync of the client is answered up to one ReadyForQuery. */
const createConnection = (near: Socket, far: Socket, { note, fail }: Observer) => {
  const [fromClient, fromServer] = [createSplitter({ isClient: true }), createSplitter({ isClient: false })]
  const statementOf = createStatementReader()
  const changesCommittedBy = createTransactionTracker()
  /** The requests without a response, with the point at which they fail. The first is the start of the session. */
  const pending: (Point | undefined)[] = [undefined]
  let next: Point | undefined
  let isOver = false
  const leave = (): void => {
    isOver = true
    far.destroy()
  }
  const cut = (): void => {
    leave()
    near.destroy()
  }
  const end = (): void => {
    isOver = true
    fail()
  }
  const send = (message: Message): void | Promise<void> => {
    const statement = statementOf(message)
    const changes = statement === undefined ? undefined : changesCommittedBy(statement)
    const noted = changes === undefined ? undefined : note(changes)
    if (noted instanceof Promise) return noted.then(() => forward(message))
    next = noted ?? next
    return forward(message)
  }
  const forward = (message: Message): void => {
    if (next === 'A') {
      end()
      return
    }
    if (message.type === 'Q' || message.type === 'S') {
      pending.push(next)
      next = undefined
    }
    far.write(message.bytes)
  }
  const receive = ({ type, bytes }: Message): void => {
    const [point] = pending
    if (point !== 'B') near.write(bytes)
    if (type !== 'Z') return
    pending.shift()
    if (point === 'B') end()
    if (point !== 'C') return
    isOver = true
    setTimeout(fail, answeredMs)
  }
  /** Handles the messages of one side in order, each after the one before it has been forwarded. */
  const pass = (split: typeof fromClient, handle: (message: Message) => void | Promise<void>) => {
    let before = Promise.resolve()
    return (chunk: Buffer): void => {
      for (const message of split(chunk)) before = before.then(() => (isOver ? undefined : handle(message)))
    }
  }
  near.on('data', pass(fromClient, send))
  far.on('data', pass(fromServer, receive))
  for (const socket of [near, far]) {
    socket.setNoDelay()
    socket.on('error', () => undefined)
    socket.on('close', () => (isOver ? undefined : cut()))
  }
  return { leave, cut }
}
