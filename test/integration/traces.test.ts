import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { traceparentAnnotation } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, logLines, programOf, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { type ReceivedSpan, startTraceReceiver } from '#test/support/traceReceiver.ts'
import { eventually } from '#test/support/wait.ts'

const clientTrace = '0af7651916cd43dd8448eb211c80319c'
const clientSpan = 'b7ad6b7169203331'
const traceparent = (flags: '00' | '01') => ({ traceparent: `00-${clientTrace}-${clientSpan}-${flags}` })

const cluster = aCluster()
let receiver: Awaited<ReturnType<typeof startTraceReceiver>>
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  receiver = await startTraceReceiver()
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings: receiver.settings })
  operator = await startOperator(receiver.settings)
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), cluster.close()])
  await receiver?.close()
})

const aWorld = async (url: string) => {
  const rest = await inNewProject(url)
  const { body } = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
  const id = body.worldId
  const namespace = `orrery-${rest.scope.organizationId}`
  await cluster.world(namespace, id).exists()
  const metadata = async () => (await cluster.worlds.get({ namespace, name: id })).metadata
  return {
    id,
    namespace,
    rest,
    path: `/api/worlds/${id}/`,
    pod: cluster.pod(namespace, id),
    metadata,
    annotation: async () => (await metadata()).annotations?.[traceparentAnnotation],
    phase: (phase: string) =>
      eventually(`phase ${phase}`, async () => {
        const { body: world } = await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)
        return world.status.phase === phase
      }),
  }
}

/** The span of the request with this id, which the log names. */
const spanOfRequest = (requestId: string | null) =>
  eventually('the span of the request', async () => {
    const line = logLines(api.logFile).find((each) => each.requestId === requestId)
    return receiver.spans.find((span) => span.traceId === line?.traceId && span.attributes['http.route'] !== undefined)
  })

test('one trace leads from a request over the apply and the reconcile to the pod, its Ready and the row', async () => {
  const world = await aWorld(api.url)
  const { headers } = await world.rest.call('POST', `${world.path}start/`)
  await world.pod.exists()
  await world.pod.becomesReady()
  await world.phase('Active')
  const request = await spanOfRequest(headers.get('x-request-id'))
  const spans = await eventually('the last span', async () => {
    const trace = receiver.spans.filter(({ traceId }) => traceId === request.traceId)
    return trace.some(({ name }) => name === 'pull world') && trace.some(({ name }) => name === 'become Ready') && trace
  })
  // The operator may write a status during the push. The API server then refuses the apply, and the push is repeated.
  const isConflict = ({ name, status }: ReceivedSpan) => name === 'push world' && status?.code === 2
  const byName = (name: string) => spans.filter((span) => span.name === name && !isConflict(span))
  const [push, ...others] = byName('push world')
  const reconciles = byName('reconcile World')
  expect(request).toMatchObject({
    service: 'orrery-api',
    name: 'POST /api/worlds/:worldId/start/',
    attributes: { 'http.request.method': 'POST', 'http.response.status_code': 200 },
  })
  expect(push).toMatchObject({ service: 'orrery-api', parentSpanId: request.spanId })
  expect(others).toEqual([])
  expect(reconciles.length).toBeGreaterThan(0)
  for (const reconcile of reconciles) {
    expect(reconcile).toMatchObject({ service: 'orrery-operator', parentSpanId: push?.spanId })
  }
  expect(byName('create Pod')).toMatchObject([
    { attributes: { 'k8s.namespace.name': world.namespace, 'k8s.pod.name': world.id } },
  ])
  expect(reconciles.map(({ spanId }) => spanId)).toContain(byName('create Pod')[0]?.parentSpanId)
  expect(byName('become Ready')).toMatchObject([{ service: 'orrery-operator', parentSpanId: push?.spanId }])
  expect(byName('pull world')).toMatchObject([
    { service: 'orrery-api', parentSpanId: push?.spanId, attributes: { 'orrery.phase': 'Active' } },
  ])
  expect(spans.filter((span) => span.status?.code === 2 && !isConflict(span))).toEqual([])
  // A push that fails for another reason than a conflict is logged.
  const postponed = logLines(api.logFile).filter((line) => line.msg === 'push: postponed' && line.world === world.id)
  expect(postponed).toEqual([])
})

test('a client decides neither the trace nor what is sampled', async () => {
  const world = await aWorld(api.url)
  const { headers } = await world.rest.call('PATCH', world.path, { name: 'Hall' }, traceparent('00'))
  const span = await spanOfRequest(headers.get('x-request-id'))
  expect(span.traceId).not.toBe(clientTrace)
  expect(span.parentSpanId ?? '').toBe('')
  expect(span.links).toMatchObject([{ traceId: clientTrace, spanId: clientSpan }])
  const malformed = await world.rest.call(
    'PATCH',
    world.path,
    { name: 'Den' },
    { traceparent: `00-${'f'.repeat(4_000)}` },
  )
  expect(malformed.status).toBe(200)
  expect((await spanOfRequest(malformed.headers.get('x-request-id'))).links ?? []).toEqual([])
})

test('a trusted client continues its trace, and its sampled flag is followed', async () => {
  const settings = { ...receiver.settings, ORRERY_TRUST_TRACEPARENT: 'true', OTEL_SERVICE_NAME: 'trusting' }
  const trusting = await startApi({ databaseUrl, settings })
  const world = await aWorld(trusting.url)
  await world.rest.call('PATCH', world.path, { name: 'Unsampled' }, traceparent('00'))
  await world.rest.call('PATCH', world.path, { name: 'Sampled' }, traceparent('01'))
  await trusting.stop()
  const patches = receiver.spans.filter(({ service, name }) => service === 'trusting' && name.startsWith('PATCH'))
  expect(patches).toMatchObject([{ traceId: clientTrace, parentSpanId: clientSpan }])
})

test('an API without the variables writes no annotation and clears one that kubectl wrote, and nothing is exported', async () => {
  const silent = await startApi({ databaseUrl: await aDatabase() })
  const world = await aWorld(silent.url)
  await world.rest.call('POST', `${world.path}start/`, undefined, traceparent('01'))
  await world.pod.exists()
  await world.pod.becomesReady()
  await world.phase('Active')
  expect(await world.annotation()).toBeUndefined()

  const foreign = `${traceparentAnnotation}=${traceparent('01').traceparent}`
  cluster.kubectl('-n', world.namespace, 'annotate', 'world', world.id, foreign)
  await world.rest.call('PATCH', world.path, { description: 'next' })
  await eventually('the annotation is cleared', async () => (await world.annotation()) === '')
  await silent.stop()
  expect(receiver.spans.filter(({ attributes }) => attributes['k8s.namespace.name'] === world.namespace)).toEqual([])
})

test('an editor of the namespace cannot change the annotation', async () => {
  const world = await aWorld(api.url)
  const role = [
    '-n',
    world.namespace,
    'create',
    'rolebinding',
    'editor',
    '--clusterrole=cluster-admin',
    '--user=editor',
  ]
  cluster.kubectl(...role)
  const annotate = (value: string) =>
    cluster.kubectl('--as=editor', '-n', world.namespace, 'annotate', 'world', world.id, '--overwrite', value)
  await eventually('the right to edit', async () => annotate('example.com/note=kept').includes('annotated'))
  for (const value of [`${traceparentAnnotation}=${traceparent('01').traceparent}`, `${traceparentAnnotation}-`]) {
    expect(() => annotate(value)).toThrow(/Only the API sets/)
  }
})

/** Returns the files that a program loads at its start, and their text. */
const loadedAtStart = (program: string): string => {
  const read = new Map<string, string>()
  const follow = (file: string): void => {
    if (read.has(file)) return
    const text = readFileSync(file, 'utf8')
    read.set(file, text)
    for (const [, name = ''] of text.matchAll(/^(?:import|\} from|import .* from) ?"(\.\/[^"]+)"/gm)) {
      follow(join(dirname(file), name))
    }
  }
  follow(program)
  return [...read.values()].join('\n')
}

test.each(['api', 'operator'] as const)('%s loads OpenTelemetry only when it exports traces', (name) => {
  const program = programOf(name)
  const chunks = readdirSync(dirname(program)).filter((file) => file.endsWith('.mjs'))
  expect(chunks.some((file) => readFileSync(join(dirname(program), file), 'utf8').includes('OTLPTraceExporter'))).toBe(
    true,
  )
  expect(loadedAtStart(program)).not.toContain('OTLPTraceExporter')
})
