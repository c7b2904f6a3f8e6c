import { documentedAt } from './documented.ts'
import { rootApiKey } from './processes.ts'

/** An answer with its body read. */
export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T }

type Sent = {
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData
}

/**
 * Sends a request as it is given. Every answer is held against the OpenAPI document of the API: one that is not as
 * documented fails the test.
 */
export const send = async (
  baseUrl: string,
  { method, path, headers = {}, body }: Sent,
): Promise<{ status: number; headers: Headers; text: string }> => {
  const signal = AbortSignal.timeout(20_000)
  const answer = await fetch(`${baseUrl}${path}`, { method, headers, signal, ...(body === undefined ? {} : { body }) })
  const text = await answer.text()
  const contentType = answer.headers.get('content-type') ?? ''
  const holdAgainstDocument = await documentedAt(baseUrl)
  holdAgainstDocument({ method, path, status: answer.status, contentType, text })
  return { status: answer.status, headers: answer.headers, text }
}

/** A client of the REST API, in the scope that it is given; a body is sent as JSON, a text as it is. */
export const createRest = (
  baseUrl: string,
  scope: { organizationId?: string; projectId?: string } = {},
  apiKey = rootApiKey,
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
        'x-api-key': apiKey,
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

/** The client of a test that has an organization and a project of its own. */
export const inNewProject = async (baseUrl: string, apiKey = rootApiKey) => {
  const root = createRest(baseUrl, {}, apiKey)
  const { body } = await root.call<{ organizationId: string }>('POST', '/api/organizations/', { name: 'Acme' })
  const organization = createRest(baseUrl, { organizationId: body.organizationId }, apiKey)
  const project = await organization.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
    name: 'Main',
  })
  return createRest(baseUrl, { organizationId: body.organizationId, projectId: project.body.projectId }, apiKey)
}

/** The parts of a world that tests look at. */
export type WorldBody = {
  documentId: string
  name: string
  description?: string
  launchContext: { name: string; launchContextId: string }
  status: { phase: string; message: string; runId?: string; startedAt?: string }
}
