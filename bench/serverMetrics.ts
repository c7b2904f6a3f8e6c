import type { Transport } from '#shared/kube/transport.ts'

const timeoutMs = 60_000

/** Returns the metrics of the API server, in the format of Prometheus. */
export const readServerMetrics = async (transport: Transport): Promise<string> => {
  const chunks: Buffer[] = []
  const options = { path: '/metrics', query: {}, signal: AbortSignal.timeout(timeoutMs), timeoutMs }
  for await (const chunk of transport.bytes(options)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Returns the sum of a metric over all labels that match. */
export const sumMetric = (metrics: string, name: string, labels = /.*/): number =>
  [...metrics.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))]
    .filter(([, text = '']) => labels.test(text))
    .reduce((sum, [, , value]) => sum + Number(value), 0)
