import type { Operations } from './operations.ts'

/** The name of an operation and of the client's method for it. */
export type OperationId = keyof Operations
/** The operations that return a list, which may have pages. */
export type ListOperationId = {
  [Id in OperationId]: Operations[Id]['answer'] extends readonly unknown[] ? Id : never
}[OperationId]

/** The organization and project of a request. */
export type Scope = { readonly organizationId?: string; readonly projectId?: string }

type Given<Name extends string, Value> =
  Record<never, never> extends Value ? { readonly [N in Name]?: Value } : { readonly [N in Name]: Value }
type GivenBody<Value> = undefined extends Value
  ? { readonly body?: Exclude<Value, undefined> }
  : { readonly body: Value }

/** The input of an operation. Aborting `signal` ends the request or the wait before a retry. */
export type Input<Id extends OperationId> = Given<'params', Operations[Id]['params']> &
  Given<'query', Operations[Id]['query']> &
  Given<'headers', Operations[Id]['headers']> &
  GivenBody<Operations[Id]['body']> & { readonly signal?: AbortSignal }

/** The arguments of an operation: its input, optional if no member of it is required. */
export type Arguments<Id extends OperationId, More = unknown> =
  Record<never, never> extends Input<Id> & More ? [input?: Input<Id> & More] : [input: Input<Id> & More]

/** The response body of an operation. */
export type Answer<Id extends OperationId> = Operations[Id]['answer']
/** A response with its status, its headers (`etag`, `link`, `location`) and its parsed body. */
export type Reply<Body> = { readonly status: number; readonly headers: Headers; readonly body: Body }

/** `maxPages`: the pages after which a list counts as endless. Default: 1,000. */
export type PageLimit = { readonly maxPages?: number }

/** The method of an operation. A list whose query names fields returns items that have only those. */
type Method<Id extends OperationId> = Operations[Id] extends { sparse: infer Sparse; query: { fields?: infer Fields } }
  ? {
      (input: Input<Id> & { readonly query: { readonly fields: Exclude<Fields, undefined> } }): Promise<Sparse>
      (...input: Arguments<Id>): Promise<Answer<Id>>
    }
  : (...input: Arguments<Id>) => Promise<Answer<Id>>

/** The client: one method for each operation, with one scope and one credential. */
export type Client = { readonly [Id in keyof Operations]: Method<Id> } & {
  /** Returns a client with the same options and another scope. It sends only the ids that are given. */
  in(scope: Scope): Client
  /** Runs an operation and returns status and headers with the body. */
  request<Id extends OperationId>(id: Id, ...input: Arguments<Id>): Promise<Reply<Answer<Id>>>
  /**
   * Iterates over the pages of a list and reads each page when the loop reaches it. Throws an Error after `maxPages` pages
   * if there are more, so that no list is cut short silently.
   */
  pages<Id extends ListOperationId>(id: Id, ...input: Arguments<Id, PageLimit>): AsyncGenerator<Answer<Id>, void, void>
}

/** The input of any operation. */
export type AnyInput = {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}
/** The request of an operation. `body` lists the media types that it accepts. */
export type Operation = { readonly method: string; readonly path: string; readonly body?: readonly string[] }
