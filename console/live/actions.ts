import { computed, effect, type ReadonlySignal, signal } from '@preact/signals'
import { type Answer, ApiError, type Client } from '#client/client.ts'
import { type ActionKind, actions, delayOfRestore, isShown, offersIn, type Seen } from '#console/state/actions.ts'

/** The actions on the world of a page. */
export type Actions = {
  /** The action that was clicked and whose effect the page does not show yet. */
  readonly pending: ReadonlySignal<ActionKind | undefined>
  /** The action that failed, with its error. */
  readonly failure: ReadonlySignal<{ readonly kind: ActionKind; readonly error: unknown } | undefined>
  /** Sends the request of an action, unless one is pending. */
  run(kind: ActionKind): void
  close(): void
}

type World = {
  readonly client: Client
  readonly worldId: string
  /** The entity tag of the world as it was read last. Empty before the first time. */
  readonly etag: ReadonlySignal<string>
  /** The version of the world in the feed. */
  readonly version: ReadonlySignal<string>
  /** Returns the id of the run that the page shows, if it shows any. */
  readonly runId: () => string | undefined
  /** Reads the world at once, which renews the entity tag. */
  readonly read: (signal: AbortSignal) => Promise<Answer<'getWorld'>>
  /** Lets the page read the world again. */
  readonly load: () => void
}

/** The attempts of a conditional request, if only the settings of the world change in between. */
const maxAttempts = 3

/** Creates the actions. A click sends one request; only a restore repeats it, while the cluster still removes the world. */
export const createActions = ({ client, worldId, etag, version, runId, read, load }: World): Actions => {
  const ended = new AbortController()
  const clicked = signal<{ kind: ActionKind; before: Seen; isAccepted: boolean } | undefined>(undefined)
  const failure = signal<{ kind: ActionKind; error: unknown } | undefined>(undefined)
  // The page follows the feed; until then a second click would act on a state that is no more.
  const stop = effect(() => {
    const action = clicked.value
    const now = { version: version.value, etag: etag.value }
    if (action?.isAccepted && isShown(action.kind, { before: action.before, now })) clicked.value = undefined
  })

  const request = (kind: ActionKind): Promise<unknown> => {
    const { operationId, isConditional } = actions[kind]
    const input = { params: { worldId }, signal: ended.signal }
    if (operationId === 'restoreWorld' || operationId === 'wakeWorld') return client[operationId](input)
    if (!isConditional || etag.peek() === '') return client[operationId](input)
    return unlessOutdated(kind, () => client[operationId]({ ...input, headers: { 'if-match': etag.peek() } }))
  }
  /** Repeats a refused request while the world has the run that the page shows, in a phase with this action. Its settings do not matter. */
  const unlessOutdated = async (kind: ActionKind, sendOnce: () => Promise<unknown>): Promise<unknown> => {
    const shown = runId()
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await sendOnce()
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 412 && attempts < maxAttempts)) throw error
        const { status } = await read(ended.signal)
        const isOffered = offersIn(status.phase, []).some((offer) => offer.kind === kind)
        if (status.runId !== shown || !isOffered) throw error
      }
    }
  }
  const send = async (kind: ActionKind): Promise<void> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        await request(kind)
        return
      } catch (error) {
        const delayMs = kind === 'restore' && error instanceof ApiError ? delayOfRestore(error, attempts) : undefined
        if (delayMs === undefined) throw error
        await new Promise((resolve) => setTimeout(resolve, delayMs))
      }
    }
  }
  const run = async (kind: ActionKind): Promise<void> => {
    failure.value = undefined
    clicked.value = { kind, before: { version: '', etag: '' }, isAccepted: false }
    try {
      // A click may come before the first read. Without the tag, neither the condition nor the effect can be told.
      if (kind !== 'restore' && etag.peek() === '') await read(ended.signal)
      const before = { version: version.peek(), etag: etag.peek() }
      await send(kind)
      clicked.value = { kind, before, isAccepted: true }
    } catch (error) {
      clicked.value = undefined
      if (!ended.signal.aborted) failure.value = { kind, error }
    }
    load()
  }
  return {
    pending: computed(() => clicked.value?.kind),
    failure,
    run: (kind) => {
      if (clicked.peek() === undefined) void run(kind)
    },
    close: () => {
      stop()
      ended.abort()
    },
  }
}
