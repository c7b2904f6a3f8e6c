import * as z from 'zod'
import type { KnownClaim } from '#api/domain/access/claims.ts'
import type { Context, LockRevision } from '#api/domain/access/context.ts'
import type { ScopeKind, ScopeRef } from '#api/domain/access/scope.ts'
import type { Credential } from '#api/platform/auth/authenticate.ts'
import type { Revision } from '#api/platform/http/entityTag.ts'
import { createFaultList } from '#api/platform/http/faults.ts'
import type { Cursor, Paged } from '#api/platform/http/page.ts'
import type { Verb } from '#shared/domain/permissions.ts'
import { addIssues } from './issues.ts'

/** The scope headers that an endpoint reads. `?` marks an optional header; with `optional`, both are. */
export type Scope =
  | 'none'
  | 'optional'
  | 'organization'
  | 'organization?project'
  | 'organization?project?world'
  | 'project'

/** Returns the scope of a request whose headers and path do not name it directly. */
export type ScopeResolver = (ctx: Context, params: Readonly<Record<string, string>>) => ScopeRef

/** The parameter names in a path template. */
type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** The parsed input of a handler. */
export type Input<Path extends string, Query, Body> = {
  readonly params: Record<ParamNames<Path>, string>
  readonly query: Query
  readonly body: Body
  /** The Accept header; empty unless the endpoint streams. */
  readonly accept: string
  /** True for a HEAD, which must change nothing. */
  readonly isHead: boolean
}

/** The body of a response that is streamed. */
export type StreamedBody = { readonly contentType: string; readonly body: ReadableStream<Uint8Array> }

/** The result of a handler. The endpoint declares the status. */
export type Reply<Body> = {
  readonly body?: Body
  /** The revision of the resource that the body shows. The response gets an entity tag. */
  readonly revision?: Revision
  /** Replaces the body of an endpoint that streams. */
  readonly stream?: StreamedBody
  readonly headers?: Readonly<Record<string, string>>
  /** The cursor of a list's next page. The response gets the Link header that leads there. */
  readonly next?: Cursor | string | undefined
}

/** Returns a page of a list as the result of a handler. */
export const toPageReply = <T>({ items, next }: Omit<Paged<T>, 'next'> & Pick<Reply<T[]>, 'next'>): Reply<T[]> => ({
  body: items,
  next,
})

/** The declaration of an endpoint, used by the router, the checks and the API reference. */
export type Description = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly operationId: string
  readonly summary: string
  /** Text beyond the summary. */
  readonly description?: string
  readonly tag: string
  /** Default: `keyOrToken`. With `key`, a user's token gets 403. With `token`, a key alone is a missing credential. */
  readonly credential?: Credential
  /** Default: none. */
  readonly scope?: Scope
  /** The verb that the caller needs and its scope. Omitted if the handler authorises. */
  readonly needs?: readonly [ScopeKind | ScopeResolver, Verb]
  /** The caller needs a verb on or below the scope of the headers. It is checked before the body is read. */
  readonly listing?: true
  /** The claim that the caller needs. Like the verb, it is checked before the body is read. */
  readonly claim?: KnownClaim
  /** Only the platform key may call it. */
  readonly platformOnly?: true
  /** The organization may be deleted. The service function reads its row. */
  readonly actsOnDeleted?: true
  /** The caller needs the verb on all scopes below as well. */
  readonly subtree?: true
  /** Reports whether the resource of the path exists. If not, a faulty request is answered with 404. */
  readonly exists?: (ctx: Context, params: Readonly<Record<string, string>>) => Promise<boolean>
  /** The path parameters that are not ids. An invalid value is a 400. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** The required JSON body. */
  readonly body?: z.ZodType
  /** The body that creates the resource. A PATCH refuses the fields that only this body has with "cannot be changed". */
  readonly created?: z.ZodObject
  /** The maximum number of JSON values in the body. Default: `maxJsonValues`. */
  readonly maxValues?: number
  /** The body is a picture, multipart or raw. The handler gets its bytes. */
  readonly upload?: true
  readonly answer?: z.ZodType
  /** The media types of a response that is streamed. The handler chooses one by the Accept header. */
  readonly streams?: readonly string[]
  /** Default: 200. */
  readonly status?: 200 | 201 | 204
  readonly answerDescription?: string
  /** The response headers to document. */
  readonly answerHeaders?: readonly ('etag' | 'link' | 'location')[]
  /**
   * Locks a resource that has an entity tag and returns its revision, or undefined if it does not exist. Every write of the
   * resource has it, so that If-Match and If-None-Match are checked in its transaction.
   */
  readonly lockRevision?: LockRevision
  /** Supports Idempotency-Key: the handler creates its rows with `createOnce`. */
  readonly idempotent?: true
  /** Counts against the rate limit for starts and stops of one world. */
  readonly throttled?: 'world'
  /**
   * The same caller writes the same resource often. Of its requests in a minute on a replica, the first that succeeds leaves an
   * audit record.
   */
  readonly auditsOncePerMinute?: true
  /** The service function writes its audit records itself, with `auditAs`, or the request needs none. */
  readonly auditsItself?: true
  /** The service function runs its parts with `runInShare` itself, because several of them run at the same time. */
  readonly sharesItself?: true
  /** Error statuses that do not follow from the other fields. */
  readonly problems?: readonly number[]
}

/** Returns the kinds of credential that an endpoint accepts. */
export const credentialOf = ({ credential = 'keyOrToken' }: Pick<Description, 'credential'>): Credential => credential

/** The unparsed input of a request. */
export type RawInput = {
  readonly params: Record<string, string>
  readonly query: Record<string, string | string[]>
  readonly body: unknown
  readonly accept: string | undefined
  readonly isHead: boolean
}

/** A declared endpoint, with the parser of its input and the call of its handler. */
export type Endpoint = Description & {
  /** Parses the input and returns the call of the handler. Throws a 400 that lists the validation errors. */
  readonly prepare: (raw: RawInput) => (ctx: Context) => Promise<Reply<unknown>>
}

type Options<Path extends string, Query extends z.ZodObject, Body extends z.ZodType, Answer extends z.ZodType> = Omit<
  Description,
  'path' | 'query' | 'body' | 'answer'
> & {
  path: Path
  query?: Query
  body?: Body
  answer?: Answer
  handle: (
    ctx: Context,
    input: Input<Path, z.output<Query>, z.output<Body>>,
  ) => Promise<Reply<z.input<Answer>>> | (Answer extends z.ZodUndefined ? Promise<void> : never)
}

const anyQuery = z.object({})
/** Issues contain the input, which tells a missing field from one of the wrong type. */
const reportInput = { reportInput: true } as const

/**
 * Declares an endpoint. The router, the checks, the OpenAPI document and the client are all derived from the declaration.
 */
export const endpoint = <
  const Path extends string,
  Query extends z.ZodObject = typeof anyQuery,
  Body extends z.ZodType = z.ZodUnknown,
  Answer extends z.ZodType = z.ZodUndefined,
>(
  options: Options<Path, Query, Body, Answer>,
): Endpoint => ({
  ...options,
  prepare: (raw) => {
    const query = options.query?.safeParse(raw.query, reportInput)
    const body = options.body?.safeParse(raw.body, reportInput)
    const params = options.params?.safeParse(raw.params, reportInput)
    const faults = createFaultList()
    if (params?.success === false) addIssues(faults, params.error.issues, 'path:')
    if (query?.success === false) addIssues(faults, query.error.issues, 'query:')
    if (body?.success === false) addIssues(faults, body.error.issues, '', options)
    if (faults.total() > 0) throw faults.toProblem()
    const input = {
      ...raw,
      accept: raw.accept ?? '',
      query: query?.data ?? {},
      body: body === undefined ? raw.body : body.data,
    }
    return async (ctx) => (await options.handle(ctx, input as Input<Path, z.output<Query>, z.output<Body>>)) ?? {}
  },
})
