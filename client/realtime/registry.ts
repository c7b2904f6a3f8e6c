import type { RealtimeError } from './error.ts'
import type { Message } from './message.ts'
import type { Resource } from './resource.ts'
import { createTable } from './table.ts'
import type { Listener } from './types.ts'

/** The limit of the API for one connection. */
export const maxResources = 128

/** The last state of a resource. Errors are not kept, since they end the subscriptions. */
type State = Exclude<Message, { kind: 'error' | 'page' }>
type Subscription = { readonly listener: Listener; delivered: State | undefined }
type Entry = {
  readonly resource: Resource
  readonly subscriptions: Set<Subscription>
  /** The worlds of a resource `worlds`. */
  readonly table: ReturnType<typeof createTable>
  state: State | undefined
  /** The newest delivered version. It never goes back, whatever messages follow. */
  newest: string
}

/**
 * Reports whether a message must be delivered. Messages of two connections or two replicas come in any order, so only a
 * newer version counts, or the same version of a resource that was missing in between.
 */
const isNewer = ({ state, newest }: Entry, message: State): boolean => {
  if (message.kind === 'missing') return state === undefined || state.kind === 'update'
  const { version } = message.event
  return version > newest || (version === newest && state?.kind === 'missing')
}

/**
 * Applies a page to the table and returns the table as an update, or undefined without a change. Clocks of replicas differ, so
 * the version is at least the previous one. Many tables are never read, so the update takes the worlds when it is read.
 */
const toUpdate = ({ table, newest }: Entry, { event }: Extract<Message, { kind: 'page' }>): State | undefined => {
  if (!table.apply(event.data)) return undefined
  const { resource, userId } = event
  const version = event.version > newest ? event.version : newest
  const update = {
    ...{ resource, userId, version },
    get data() {
      return table.take()
    },
  }
  return { kind: 'update', event: update }
}

/** Creates the registry of subscribed resources, which keeps the newest state of each. */
export const createRegistry = () => {
  const entries = new Map<string, Entry>()
  const addEntry = (resource: Resource): Entry => {
    if (entries.size >= maxResources) throw new RangeError(`A connection has at most ${maxResources} resources.`)
    const entry: Entry = { resource, subscriptions: new Set(), table: createTable(), state: undefined, newest: '' }
    entries.set(keyOf(resource), entry)
    return entry
  }
  return {
    resources: (): Resource[] => [...entries.values()].map(({ resource }) => resource),
    isEmpty: (): boolean => entries.size === 0,
    /**
     * Adds a listener, which soon receives the known state. `isFirst` and `isLast` report that the resource has no other
     * listener.
     */
    add: (resource: Resource, listener: Listener): { isFirst: boolean; remove: () => { isLast: boolean } } => {
      const entry = entries.get(keyOf(resource)) ?? addEntry(resource)
      const isFirst = entry.subscriptions.size === 0
      const subscription: Subscription = { listener, delivered: undefined }
      entry.subscriptions.add(subscription)
      // Later, because the caller does not have the function that ends the subscription yet.
      queueMicrotask(() => deliver(entry, subscription))
      const remove = (): { isLast: boolean } => {
        const isLast = entry.subscriptions.delete(subscription) && entry.subscriptions.size === 0
        if (isLast) entries.delete(keyOf(resource))
        return { isLast }
      }
      return { isFirst, remove }
    },
    /** Records a message and delivers it to the listeners of its resource. */
    receive: (message: Message): void => {
      const key = keyOf(message.event.resource)
      const entry = entries.get(key)
      if (entry === undefined) return
      if (message.kind === 'error') {
        entries.delete(key)
        end(entry, message.event.error)
      } else if (message.kind === 'page') {
        const update = toUpdate(entry, message)
        if (update === undefined) deliverPart(entry)
        else record(entry, update)
      } else if (isNewer(entry, message)) {
        record(entry, message)
      }
    },
    /** Ends all subscriptions, with an error if one is given. */
    clear: (error: RealtimeError | undefined): void => {
      const ended = [...entries.values()]
      entries.clear()
      for (const entry of ended) end(entry, error)
    },
  }
}

const keyOf = ({ type, id }: Resource): string => `${type}/${id}`

const end = ({ subscriptions }: Entry, error: RealtimeError | undefined): void => {
  const ended = [...subscriptions]
  subscriptions.clear()
  if (error === undefined) return
  for (const { listener } of ended) callGuarded(() => listener.onError(error))
}

/** Records the newest state of a resource and delivers it. */
const record = (entry: Entry, state: State): void => {
  entry.state = state
  if (state.kind === 'missing') entry.table.clear()
  else entry.newest = state.event.version
  for (const subscription of entry.subscriptions) deliver(entry, subscription)
}

/** Delivers the worlds that are known while the first snapshot arrives. */
const deliverPart = ({ subscriptions, table }: Entry): void => {
  if (table.isComplete()) return
  for (const { listener } of subscriptions) callGuarded(() => listener.onPart?.(table.take()))
}

const deliver = ({ subscriptions, state }: Entry, subscription: Subscription): void => {
  if (state === undefined || subscription.delivered === state || !subscriptions.has(subscription)) return
  subscription.delivered = state
  const { listener } = subscription
  callGuarded(() => {
    if (state.kind === 'update') listener.onUpdate(state.event)
    else if (state.kind === 'deletion') listener.onDeleted?.(state.event)
    else listener.onMissing?.(state.event)
  })
}

/** Calls a callback of the user. Its error is reported as uncaught and stops nothing here. */
export const callGuarded = (callback: () => void): void => {
  try {
    callback()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
