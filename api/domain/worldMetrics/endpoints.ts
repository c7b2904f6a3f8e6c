import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { readWorldMetrics } from './metrics.ts'
import { worldMetrics } from './schema.ts'

/** The endpoint of the CPU and memory that the server of a world uses. */
export const worldMetricsEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/worlds/{worldId}/metrics/',
    operationId: 'readWorldMetrics',
    summary: 'Read the CPU and memory that the server of a world uses',
    description:
      'Returns the newest sample of metrics.k8s.io. 409: no server runs, or it has no sample yet. 501: the cluster has no metrics, or logs are turned off.',
    tag: 'Worlds',
    scope: 'project',
    needs: ['world', 'r'],
    answer: worldMetrics,
    sharesItself: true,
    problems: [409, 501],
    handle: async (ctx, { params }) => ({ body: await readWorldMetrics(ctx, params.worldId) }),
  }),
]
