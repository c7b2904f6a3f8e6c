import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import { syncStatus } from './schema.ts'
import { getSyncStatus } from './status.ts'

/** The endpoint that shows the state of sync in each cluster to the platform key. */
export const clusterEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/sync/',
    operationId: 'getSyncStatus',
    summary: 'Read the state of the synchronisation with the clusters',
    description:
      'Needs the platform key. `orrery sync` resolves what it shows. The Link header leads to more findings.',
    credential: 'key',
    tag: 'Sync',
    platformOnly: true,
    query: pageQuery,
    answer: syncStatus,
    answerHeaders: ['link'],
    problems: [403],
    handle: async (ctx, { query }) => {
      const { status, next } = await getSyncStatus(ctx, toPage(query))
      return { body: status, next }
    },
  }),
]
