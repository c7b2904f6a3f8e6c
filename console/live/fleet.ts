import { batch, effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import type { FeedWorld } from '#client/realtime/resource.ts'
import type { RealtimeState } from '#client/realtime.ts'
import { type Row, toRow } from '#console/state/row.ts'
import { invalidKey, session, signOut } from './session.ts'

/**
 * The state of the live connection. `sinceMs` is the time since which the table has not been live; `nextTryMs` that of the next
 * attempt. Times are milliseconds since 1970. `isRefused` means that no attempt of several has succeeded yet.
 */
export type Connection =
  | { readonly isLive: true }
  | { readonly isLive: false; readonly sinceMs: number; readonly nextTryMs: number; readonly isRefused: boolean }

const noRows: ReadonlyMap<string, Row> = new Map()
const rowsNow = signal(noRows)
const loaded = signal(false)
const failure = signal('')
const connectionNow = signal<Connection>({ isLive: true })
const clock = signal(Date.now())
const attempt = signal(0)

/** The worlds of the organization that the credential can read, by id. */
export const rows: ReadonlySignal<ReadonlyMap<string, Row>> = rowsNow
/** True once the first snapshot of the feed is complete. */
export const isLoaded: ReadonlySignal<boolean> = loaded
/** The reason why the feed ended for good. Empty while it has not. */
export const feedFailure: ReadonlySignal<string> = failure
/** The state of the live connection. */
export const connection: ReadonlySignal<Connection> = connectionNow
/** The present time in milliseconds since 1970. It advances once a second while the tab is visible. */
export const now: ReadonlySignal<number> = clock

/** Returns the row of a world, or undefined if the feed has none. */
export const rowOf = (worldId: string): Row | undefined => rowsNow.value.get(worldId)

/** Connects again at once. */
export const tryNow = (): void => {
  attempt.value += 1
}

// A world that did not change is the same object in the next table, and keeps its row.
const known = new WeakMap<FeedWorld, Row>()
const rowFor = (world: FeedWorld): Row => {
  const row = known.get(world) ?? toRow(world)
  known.set(world, row)
  return row
}

/** The shortest time between two tables. Fewer of them leave the main thread free, and nobody sees more. */
const pauseMs = 100

/** The worlds of a message. The client copies all of them when `data` is read, so that is done when they are shown. */
type Table = { readonly update: { readonly data: ReadonlyMap<string, FeedWorld> }; readonly isComplete: boolean }

/** Follows the feed of an organization. Returns a function that ends it. */
const follow = ({ openRealtime, organizationId, projectId }: NonNullable<typeof session.value>): (() => void) => {
  let newest: Table | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let frame = 0
  const show = (): void => {
    timer = undefined
    if (newest === undefined) return
    const { update, isComplete } = newest
    const next = new Map<string, Row>()
    for (const [id, world] of update.data) next.set(id, rowFor(world))
    newest = undefined
    batch(() => {
      // After a reconnection, the page keeps its worlds until it has all of them again.
      if (isComplete || !loaded.peek()) rowsNow.value = next
      if (isComplete) loaded.value = true
    })
  }
  // Hidden tabs get no frames, so they render nothing, and show the newest table when they are visible again.
  const plan = (): void => {
    timer ??= setTimeout(() => {
      frame = requestAnimationFrame(show)
    }, pauseMs)
  }
  const take = (table: Table): void => {
    newest = table
    plan()
  }
  const states = createOnState()
  const realtime = openRealtime(states.onState)
  realtime.subscribe('worlds', projectId || organizationId, {
    onPart: (data) => take({ update: { data }, isComplete: false }),
    onUpdate: (update) => take({ update, isComplete: true }),
    onMissing: ({ message }) => {
      failure.value = message
    },
    onError: (error) => {
      if (['4401', 'unauthenticated'].includes(error.code)) return signOut(invalidKey)
      failure.value = error.message
    },
  })
  return () => {
    clearTimeout(timer)
    cancelAnimationFrame(frame)
    states.end()
    realtime.close()
  }
}

/** The attempts without any success after which the API probably refuses the page. A browser does not say so. */
const refusedAttempts = 3

/** The time for which the page stays live while the connection gets its next token, which usually takes less. */
const renewalMs = 3_000

/** Returns the listener of a new connection, with a function that ends it. */
const createOnState = () => {
  let failures = 0
  let hasOpened = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = (): void => clearTimeout(timer)
  const onState = (state: RealtimeState): void => {
    // A connection that waits for its token is not live before it is open.
    if (state.state !== 'connecting') end()
    if (state.state === 'open') {
      hasOpened = true
      connectionNow.value = { isLive: true }
    }
    if (state.state !== 'waiting') return
    if (state.delayMs === 0) {
      timer = setTimeout(() => showLoss(0, false), renewalMs)
      return
    }
    failures += 1
    showLoss(state.delayMs, !hasOpened && failures >= refusedAttempts)
  }
  return { onState, end }
}

const showLoss = (delayMs: number, isRefused: boolean): void => {
  const nowMs = Date.now()
  const before = connectionNow.peek()
  connectionNow.value = {
    isLive: false,
    sinceMs: before.isLive ? nowMs : before.sinceMs,
    nextTryMs: nowMs + delayMs,
    isRefused,
  }
}

/** Follows the organization of the session, and ticks the clock, until the page is closed. Call it once. */
export const startFleet = (): void => {
  effect(() => {
    const current = session.value
    batch(() => {
      rowsNow.value = noRows
      loaded.value = false
      failure.value = ''
      connectionNow.value = { isLive: true }
    })
    if (current === undefined || current.organizationId === '') return
    return effect(() => {
      void attempt.value
      failure.value = ''
      return untracked(() => follow(current))
    })
  })
  setInterval(() => {
    if (!document.hidden) clock.value = Date.now()
  }, 1_000)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) clock.value = Date.now()
  })
}
