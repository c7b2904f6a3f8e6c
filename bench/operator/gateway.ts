import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { obtainGatewayDefinitions } from '#dev/gateway/definitions.ts'
import { until } from '#dev/until.ts'
import type { HttpRoute } from '#operator/pods/httpRoute.ts'
import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import { isAlreadyExists } from '#shared/kube/errors.ts'
import { silentLog } from '#shared/kube/log.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { definitionResource, httpRouteResource } from '#shared/resources/group.ts'

const { group } = httpRouteResource

/** The settings of an operator whose worlds use the Gateway. */
export const gatewaySettings = {
  ORRERY_ROUTE_GATEWAY: 'gateways/players',
  ORRERY_ROUTE_URL: 'wss://*.worlds.example.com',
}

/** Installs the definition of routes, and accepts each route at once, as the controller of the Gateway would. */
export const openGateway = async (transport: Transport): Promise<{ stop(): Promise<void> }> => {
  const folder = obtainGatewayDefinitions(process.env)
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('_httproutes.yaml'))
  const [definition] = parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((each) => each.toJS())
  const definitions = createClient<KubeObject>(transport, definitionResource)
  await definitions.create(definition as KubeObject).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error
  })
  const stop = new AbortController()
  const routes = createReflector({
    client: createClient<HttpRoute>(transport, httpRouteResource),
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    timing: { firstBackoffMs: 100, maxBackoffMs: 500 },
    isOptional: true,
  })
  const answer = async ({ metadata: { name, namespace, generation } }: HttpRoute): Promise<void> => {
    const condition = { status: 'True', message: '', observedGeneration: generation, lastTransitionTime: new Date() }
    const conditions = ['Accepted', 'ResolvedRefs'].map((type) => ({ ...condition, type, reason: type }))
    const parentRef = { group, kind: 'Gateway', namespace: 'gateways', name: 'players' }
    await transport.request({
      method: 'PATCH',
      path: `/apis/${group}/v1/namespaces/${namespace}/httproutes/${name}/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { parents: [{ parentRef, controllerName: 'example.com/gateway', conditions }] } },
    })
  }
  routes.onChange(({ type, object }) => {
    if (type === 'added' && object.status?.parents === undefined) void answer(object)
  })
  const running = routes.run(stop.signal)
  await until('HTTPRoutes are served', async () => routes.isServed() || undefined, 30_000)
  return {
    stop: async () => {
      stop.abort()
      await running
    },
  }
}
