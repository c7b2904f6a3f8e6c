import type { HttpRoute, ParentRef } from '#operator/pods/httpRoute.ts'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { definitionResource, httpRouteResource } from '#shared/resources/group.ts'
import { eventually } from './wait.ts'

const { group } = httpRouteResource
const name = `httproutes.${group}`

/** The definition of HTTPRoutes as far as tests need it: with a status of its own, and without the rules of the real one. */
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name,
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/2466' },
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'httproutes', singular: 'httproute', kind: 'HTTPRoute', listKind: 'HTTPRouteList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** Returns helpers that play Gateway API: its definition, a Gateway that answers, and the garbage collector of its routes. */
export const gatewayApi = (transport: Transport) => {
  const definitions = createClient<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>(
    transport,
    definitionResource,
  )
  const routes = createClient<HttpRoute>(transport, httpRouteResource)
  return {
    routes,
    isInstalled: async () => {
      await definitions.create(definition)
      await eventually('HTTPRoutes are served', async () => {
        const { status } = await definitions.get({ name })
        return status?.conditions?.some((each) => each.type === 'Established' && each.status === 'True')
      })
    },
    isRemoved: async () => {
      await definitions.delete({ name })
      await eventually('HTTPRoutes are gone', async () => {
        const { items } = await definitions.list({})
        return items.every(({ metadata }) => metadata.name !== name)
      })
    },
    /** Answers a route as the controller of a Gateway does. */
    answers: async (
      { metadata }: HttpRoute,
      parentRef: ParentRef,
      conditions: { type: string; status: string; reason: string }[],
    ) => {
      const times = {
        lastTransitionTime: new Date().toISOString(),
        observedGeneration: metadata.generation,
        message: '',
      }
      const parents = [
        {
          parentRef,
          controllerName: 'example.com/gateway',
          conditions: conditions.map((each) => ({ ...times, ...each })),
        },
      ]
      await transport.request({
        method: 'PATCH',
        path: `/apis/${group}/v1/namespaces/${metadata.namespace}/httproutes/${metadata.name}/status`,
        contentType: 'application/merge-patch+json',
        body: { status: { parents } },
      })
    },
  }
}
