import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = { readonly stringValue?: string; readonly intValue?: number | string; readonly boolValue?: boolean }
type KeyValue = { readonly key: string; readonly value: Value }
type OtlpSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status?: { readonly code?: number }
}
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

/** A span that a process exported. */
export type ReceivedSpan = Omit<OtlpSpan, 'attributes'> & {
  readonly service: string
  readonly attributes: Readonly<Record<string, unknown>>
}

const toRecord = (attributes: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? (value.intValue && Number(value.intValue))]),
  )

/** Starts a collector that takes OTLP as JSON over HTTP and keeps all spans. `settings` are those of a process that exports to it. */
export const startTraceReceiver = async () => {
  const spans: ReceivedSpan[] = []
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    texts.push(text)
    for (const { resource, scopeSpans } of (JSON.parse(text) as Export).resourceSpans) {
      const service = String(toRecord(resource.attributes)['service.name'])
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({ ...span, service, attributes: toRecord(span.attributes) })
      }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    spans,
    /** The bodies of all exports. */
    texts,
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '100' },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
