import { z } from 'zod'
import type { KnownClaim } from '#api/domain/access/claims.ts'
import type { Context } from '#api/domain/access/context.ts'
import type { Verb } from '#api/domain/access/permissions.ts'
import type { ScopeKind, ScopeRef } from '#api/domain/access/scope.ts'
import type { Credential } from '#api/platform/auth/authenticate.ts'
import { createFaultList, type FaultList } from '#api/platform/http/faults.ts'

/** Which scope headers an endpoint reads; `optional` takes both or neither, `?project` may be left out. */
export type Scope =
  | 'none'
  | 'optional'
  | 'organization'
  | 'organization?project'
  | 'organization?project?world'
  | 'project'

/** Returns the scope of a request whose headers and path do not name it directly. */
export type ScopeResolver = (ctx: Context, params: Readonly<Record<string, string>>) => ScopeRef

/** The names in braces of a path. */
type ParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** What a handler gets: everything that the table names, parsed. `ifMatch` is there where the endpoint honours it. */
export type Input<Path extends string, Query, Body> = {
  readonly params: Record<ParamNames<Path>, string>
  readonly query: Query
  readonly body: Body
  readonly ifMatch: string | undefined
}

/** What a handler returns; the status is the endpoint's. */
export type Reply<Body> = { readonly body?: Body; readonly headers?: Readonly<Record<string, string>> }

/** What the table says of an endpoint, for the router, the checks and the documentation. */
export type Description = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly tag: string
  /** Default: an API key. */
  readonly credential?: Credential
  /** Default: none. */
  readonly scope?: Scope
  /** The verb that is needed, and on which scope; left out where the handler lists or decides. */
  readonly needs?: readonly [ScopeKind | ScopeResolver, Verb]
  /** The claim that is needed as well; checked, like the verb, before the body is read. */
  readonly claim?: KnownClaim
  /** Only the platform key may call it. */
  readonly platformOnly?: true
  /** The verb is needed on all scopes below too. */
  readonly subtree?: true
  /** What the path names beyond the scope; absent is 404 before anything is said of the body. */
  readonly exists?: (ctx: Context, params: Readonly<Record<string, string>>) => Promise<boolean>
  /** What the path names that is no id: another value is a 400. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** A JSON body that must be given. */
  readonly body?: z.ZodType
  /** How many JSON values the body may hold. Default: `maxJsonValues`. */
  readonly maxValues?: number
  /** The body is a picture, multipart or raw; the handler gets its bytes. */
  readonly upload?: true
  readonly answer?: z.ZodType
  /** Default: 200. */
  readonly status?: 200 | 204
  readonly answerDescription?: string
  /** Headers of the answer that are worth naming. */
  readonly answerHeaders?: readonly ('etag' | 'link' | 'location')[]
  readonly ifMatch?: true
  /** Honours Idempotency-Key: the handler makes its rows by `createOnce`. */
  readonly idempotent?: true
  /** Counts against the starts and stops of one world. */
  readonly throttled?: 'world'
  /** Statuses beyond those that follow from the rest of the entry. */
  readonly problems?: readonly number[]
}

/** What came in, unparsed. */
export type RawInput = {
  readonly params: Record<string, string>
  readonly query: Record<string, string | string[]>
  readonly body: unknown
  readonly ifMatch: string | undefined
}

/** One line of the table of routes. */
export type Endpoint = Description & {
  /** Parses the input; throws a 400 that lists its faults, or returns what is left to do. */
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
  handle: (ctx: Context, input: Input<Path, z.output<Query>, z.output<Body>>) => Promise<Reply<z.input<Answer>>>
}

const anyQuery = z.object({})

/**
 * Declares an endpoint. All that is known of it stands in this one entry: the router, the order of checks, the OpenAPI
 * document and the client follow from it.
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
    const query = options.query?.safeParse(raw.query)
    const body = options.body?.safeParse(raw.body)
    const params = options.params?.safeParse(raw.params)
    const faults = createFaultList()
    if (params?.success === false) addIssues(faults, params.error.issues, 'path:')
    if (query?.success === false) addIssues(faults, query.error.issues, 'query:')
    if (body?.success === false) addIssues(faults, body.error.issues, '')
    if (faults.total() > 0) throw faults.toProblem()
    const input = { ...raw, query: query?.data ?? {}, body: body === undefined ? raw.body : body.data }
    return (ctx) => options.handle(ctx, input as Input<Path, z.output<Query>, z.output<Body>>)
  },
})

/** Adds the issues that zod found. An unknown field is a fault of its own, at its own place. */
const addIssues = (faults: FaultList, issues: readonly z.core.$ZodIssue[], prefix: string): void => {
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') faults.add(issue.path, issue.message, prefix)
    else for (const key of issue.keys) faults.add([...issue.path, key], 'this field is not known here', prefix)
  }
}
