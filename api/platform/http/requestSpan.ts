import type { HonoRequest } from 'hono'
import { noSpan, type Span, type Tracing } from '#shared/tracing/tracing.ts'

/** The tracing of requests. */
export type RequestTracing = {
  readonly tracing: Tracing
  /** Requests continue the trace of their client, with its decision to sample. */
  readonly trustsTraceparent: boolean
}

/** Probes come every few seconds and say nothing about a request. */
const untraced = ['/livez', '/readyz']

/**
 * Starts the span of a request. Clients are not trusted by default, as by the API server of Kubernetes: a request begins a new
 * trace with a link to the client's span, so that no client decides what is sampled or adds spans to a trace of others.
 */
export const startRequestSpan = ({ tracing, trustsTraceparent }: RequestTracing, request: HonoRequest): Span => {
  if (!tracing.isOn || untraced.includes(request.path)) return noSpan
  const { method } = request
  const traceparent = request.header('traceparent')
  return tracing.start(method, {
    kind: 'server',
    attributes: { 'http.request.method': method },
    ...(trustsTraceparent ? { parent: traceparent } : { link: traceparent }),
  })
}

/** Reports whether a response is a failure of the API. A 501 is none: it names what the installation does without. */
export const isFailure = (status: number): boolean => status >= 500 && status !== 501

/** Ends the span of a request. Its name is the pattern of the route, so that it contains no id. */
export const endRequestSpan = (
  span: Span,
  { method, route, status }: { method: string; route: string; status: number },
): void => {
  const matched = route === 'unmatched' ? {} : { name: `${method} ${route}` }
  span.end({
    ...matched,
    ...(isFailure(status) && { error: String(status) }),
    attributes: { 'http.response.status_code': status, ...(route !== 'unmatched' && { 'http.route': route }) },
  })
}
