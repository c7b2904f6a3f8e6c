import type { Operations } from './operations.ts'

/** The name of an operation, which is that of its method. */
export type OperationId = keyof Operations
/** The operations that answer a list, which may come in pages. */
export type ListOperationId = {
  [Id in OperationId]: Operations[Id]['answer'] extends readonly unknown[] ? Id : never
}[OperationId]

/** Whose things are meant. */
export type Scope = { readonly organizationId?: string; readonly projectId?: string }

type Given<Name extends string, Value> =
  Record<never, never> extends Value ? { readonly [N in Name]?: Value } : { readonly [N in Name]: Value }
type GivenBody<Value> = undefined extends Value
  ? { readonly body?: Exclude<Value, undefined> }
  : { readonly body: Value }

/** What an operation takes. Aborting `signal` ends the request, and a wait before its repetition. */
export type Input<Id extends OperationId> = Given<'params', Operations[Id]['params']> &
  Given<'query', Operations[Id]['query']> &
  Given<'headers', Operations[Id]['headers']> &
  GivenBody<Operations[Id]['body']> & { readonly signal?: AbortSignal }

/** The arguments of an operation: its input, which may be left out where nothing of it must be given. */
export type Arguments<Id extends OperationId, More = unknown> =
  Record<never, never> extends Input<Id> & More ? [input?: Input<Id> & More] : [input: Input<Id> & More]

/** What an operation answers. */
export type Answer<Id extends OperationId> = Operations[Id]['answer']
/** An answer with what its headers say: `etag`, `link`, `location`. */
export type Reply<Body> = { readonly status: number; readonly headers: Headers; readonly body: Body }

/** `maxPages`: how many pages are read before the list is taken for endless, 1,000 unless given. */
export type PageLimit = { readonly maxPages?: number }

/** The API: a method for each operation, in one scope and with one credential. */
export type Client = { readonly [Id in keyof Operations]: (...input: Arguments<Id>) => Promise<Answer<Id>> } & {
  /** The same client in another scope; an id that is left out is not sent. */
  in(scope: Scope): Client
  /** Does an operation, and gives status and headers beside the body. */
  request<Id extends OperationId>(id: Id, ...input: Arguments<Id>): Promise<Reply<Answer<Id>>>
  /**
   * The pages of a list, read one by one as they are asked for; leave the loop to read no more. A list of more than
   * `maxPages` pages is an Error after the last of them, so that none is cut short unseen.
   */
  pages<Id extends ListOperationId>(id: Id, ...input: Arguments<Id, PageLimit>): AsyncGenerator<Answer<Id>, void, void>
}

/** An input as it is worked with, whatever its operation. */
export type AnyInput = {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}
/** What a request of an operation is made of; `body` has the media types that it takes. */
export type Operation = { readonly method: string; readonly path: string; readonly body?: readonly string[] }
