import type { Identity } from '../options.ts'
import type { Clock } from '../retry.ts'
import type { RealtimeError } from './error.ts'
import type { DataOf, Resource, ResourceType } from './resource.ts'

/** A resource as it is now. Of one resource versions sort as texts, and never go back. */
export type Update<Type extends ResourceType = ResourceType> = {
  readonly resource: Resource<Type>
  readonly data: DataOf[Type]
  readonly version: string
  /** The user whom a document belongs to, or the key that wrote it; empty for a world. */
  readonly userId: string
}
/** The end of a resource; it may be made again, with a later version. */
export type Deletion = { readonly resource: Resource; readonly version: string }
/** There is no such thing, or it is out of reach. It is followed all the same, and told once it is there. */
export type Missing = { readonly resource: Resource; readonly message: string }

/** What is called with the news of one resource. What it throws is reported as uncaught, and stops nothing. */
export type Listener<Type extends ResourceType = ResourceType> = {
  /** With what is there, then with each change; changes that come fast may be merged to the newest. */
  onUpdate(update: Update<Type>): void
  onDeleted?(deletion: Deletion): void
  onMissing?(missing: Missing): void
  /** At most once, and the last that is called: the resource is followed no more. */
  onError(error: RealtimeError): void
}

/** Where the connection stands: `waiting` is between two attempts, and `idle` is without anything to follow. */
export type RealtimeState =
  | { readonly state: 'idle' | 'connecting' | 'open' | 'closed' }
  | { readonly state: 'waiting'; readonly delayMs: number; readonly code: number; readonly reason: string }

/** Of a WebSocket what is needed here; that of browsers and of Node, and that of the package `ws`, have it. */
export type WebSocketLike = {
  addEventListener(
    type: 'open' | 'message' | 'close' | 'error',
    listener: (event: { type: string; data?: unknown; code?: number; reason?: string }) => void,
  ): void
  send(text: string): void
  close(): void
}

/** How the API is reached, as whom, and in which scope. */
export type RealtimeOptions = Identity & {
  /** As for REST: where the API is, without `/api`; '' is the address of the page in a browser. */
  readonly baseUrl: string
  readonly worldId?: string
  /** Called whenever the state changes: for showing that what is seen may be old. */
  readonly onState?: (state: RealtimeState) => void
  readonly fetch?: typeof globalThis.fetch
  readonly WebSocket?: new (url: string, protocols: string[]) => WebSocketLike
  readonly clock?: Pick<Clock, 'sleep'>
  /** From 0 to below 1. */
  readonly random?: () => number
}

/** One connection, which is made anew whenever it is lost, and what is followed on it. */
export type Realtime = {
  /**
   * Follows a resource, and connects if nothing was followed before. Returns what ends it; the listener is not called
   * after that. Throws a RangeError for a resource above the 128th, and the reason after the end of the connection.
   */
  subscribe<Type extends ResourceType>(type: Type, id: string, listener: Listener<Type>): () => void
  /** Ends all for good; no listener is called any more. */
  close(): void
}
