import type { WorldIdle } from '#shared/domain/idle.ts'
import type { NextAction } from '#shared/domain/schedule.ts'
import { withDefined } from '#shared/optional.ts'
import { documentedAt } from './documented.ts'
import { rootApiKey } from './processes.ts'
import { patience } from './wait.ts'

/** A response with its parsed body. */
export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

type Sent = {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData
}

/** Sends a request. Throws if the response does not match the OpenAPI document that the API serves. */
export const send = async (
  baseUrl: string,
  { method, path, headers = {}, body }: Sent,
): Promise<{ status: number; headers: Headers; text: string }> => {
  const signal = AbortSignal.timeout(60_000 * patience)
  // A connection per request: on a busy machine the server may close a kept one just as the next request is written to it.
  const init = withDefined({ method, headers: { connection: 'close', ...headers }, signal, body })
  const answer = await fetch(`${baseUrl}${path}`, init)
  const text = await answer.text()
  const contentType = answer.headers.get('content-type') ?? ''
  const checkAgainstDocument = await documentedAt(baseUrl)
  checkAgainstDocument({ method, path, status: answer.status, contentType, text })
  return { status: answer.status, headers: answer.headers, text }
}

/** Creates a REST client for a scope, with an API key or a user's token. It sends an object body as JSON and a string body unchanged. */
export const createRest = (
  baseUrl: string,
  scope: { organizationId?: string; projectId?: string } = {},
  credential: string | { readonly token: string } = rootApiKey,
) => {
  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> => {
    const answer = await send(baseUrl, {
      method,
      path,
      headers: {
        ...(typeof credential === 'string'
          ? { 'x-api-key': credential }
          : { authorization: `Bearer ${credential.token}` }),
        ...(scope.organizationId ? { 'x-svc-organization-id': scope.organizationId } : {}),
        ...(scope.projectId ? { 'x-svc-project-id': scope.projectId } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const { text } = answer
    return { status: answer.status, headers: answer.headers, body: (text === '' ? undefined : JSON.parse(text)) as T }
  }
  return { call, scope }
}

/** Creates an organization and a project, and returns a REST client for them. */
export const inNewProject = async (baseUrl: string, apiKey = rootApiKey) => {
  const root = createRest(baseUrl, {}, apiKey)
  const { body } = await root.call<{ organizationId: string }>('POST', '/api/organizations/', { name: 'Acme' })
  const organization = createRest(baseUrl, { organizationId: body.organizationId }, apiKey)
  const project = await organization.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
    name: 'Main',
  })
  return createRest(baseUrl, { organizationId: body.organizationId, projectId: project.body.projectId }, apiKey)
}

/** The fields of a world that tests read. */
export type WorldBody = {
  documentId: string
  organizationId: string
  name: string
  description?: string
  launchContext: { name: string; launchContextId: string }
  status: {
    phase: string
    message: string
    runId?: string
    startedAt?: string
    idle?: WorldIdle
    nextAction?: NextAction
  }
}
