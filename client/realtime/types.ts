import type { Identity } from '../options.ts'
import type { Clock } from '../retry.ts'
import type { RealtimeError } from './error.ts'
import type { Resource, ResourceData, ResourceType } from './resource.ts'

/**
 * The current state of a resource. Versions of one resource sort as strings and never go back. The version of `worlds` is the
 * time of the newest message, and their data is a new map for each change, made when it is read: read it only when it is needed.
 */
export type Update<Type extends ResourceType = ResourceType> = {
  readonly resource: Resource<Type>
  readonly data: ResourceData[Type]
  readonly version: string
  /** The user that owns the document, or the key that wrote it; empty for worlds. */
  readonly userId: string
}
/** The deletion of a resource. It may be recreated, with a later version. */
export type Deletion = { readonly resource: Resource; readonly version: string }
/** The resource does not exist or cannot be read. The subscription stays active and gets an update when the resource can be read. */
export type Missing = { readonly resource: Resource; readonly message: string }

/** The callbacks of one subscription. An error that they throw is reported as uncaught and stops nothing. */
export type Listener<Type extends ResourceType = ResourceType> = {
  /** Receives the current state, then each change. Changes in quick succession may be merged into the newest. */
  onUpdate(update: Update<Type>): void
  /** For `worlds` only: receives the worlds that are known, while the first snapshot arrives in pages. */
  onPart?(data: ResourceData['worlds']): void
  onDeleted?(deletion: Deletion): void
  onMissing?(missing: Missing): void
  /** Called at most once and last: the subscription has ended. */
  onError(error: RealtimeError): void
}

/** The state of the connection: `waiting` between two attempts, `idle` without subscriptions. */
export type RealtimeState =
  | { readonly state: 'idle' | 'connecting' | 'open' | 'closed' }
  | { readonly state: 'waiting'; readonly delayMs: number; readonly code: number; readonly reason: string }

/** The members of WebSocket that the client uses: those of browsers, of Node and of the package `ws` qualify. */
export type WebSocketLike = {
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: { type: string; data?: unknown; code?: number; reason?: string }) => void,
  ): void
  send(text: string): void
  close(): void
}

/** Options of `createRealtime`. */
export type RealtimeOptions = Identity & {
  /** The address of the API without `/api`, as for REST. In a browser, '' is the page's address. */
  readonly baseUrl: string
  readonly worldId?: string
  /**
   * Requests a ticket for each connection, so that no handshake has the credential, which proxies may log. Without it, the client does
   * so only for a token that a function returns, and for a credential that is too long for a handshake.
   */
  readonly usesTickets?: boolean
  /** Called when the state changes, for example to show that data may be out of date. */
  readonly onState?: (state: RealtimeState) => void
  readonly fetch?: typeof globalThis.fetch
  readonly WebSocket?: new (url: string, protocols: string[]) => WebSocketLike
  readonly clock?: Pick<Clock, 'sleep'>
  /** The silence after which the connection is probed. It is closed if the probe gets no answer in the same time. Default: 30,000. */
  readonly quietMs?: number
  /** Returns a number from 0 to below 1. */
  readonly random?: () => number
}

/** A connection that reconnects by itself, with its subscriptions. */
export type Realtime = {
  /**
   * Subscribes to a resource and connects if this is the first subscription. Returns a function that ends the subscription;
   * the listener is not called after that. Throws a RangeError for the 129th resource, and the reason after the end of the
   * connection.
   */
  subscribe<Type extends ResourceType>(type: Type, id: string, listener: Listener<Type>): () => void
  /** Closes the connection and ends all subscriptions for good. No listener is called after that. */
  close(): void
}
