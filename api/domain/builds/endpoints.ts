import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { deleteBuild, getBuild, lockBuildRevision, putBuild } from './builds.ts'
import { buildAnswer, buildParams, putBuildBody } from './schema.ts'

const buildRoute = {
  path: '/api/builds/{channelId}/{tag}/',
  tag: 'Builds',
  scope: 'organization',
  params: buildParams,
} as const

/** Endpoints to read a build with `r` on the organization, and to write or delete it with `w`. */
export const buildEndpoints = [
  endpoint({
    ...buildRoute,
    method: 'get',
    operationId: 'getBuild',
    summary: 'Read the build of a channel and tag',
    description: 'Returns the image and content of a channel and tag.',
    needs: ['organization', 'r'],
    answer: buildAnswer,
    answerHeaders: ['etag'],
    handle: (ctx, { params }) => getBuild(ctx, params),
  }),
  endpoint({
    ...buildRoute,
    method: 'put',
    operationId: 'putBuild',
    summary: 'Set the build of a channel and tag',
    description: 'Every change gets a new build id. Runs keep the build of their start.',
    needs: ['organization', 'w'],
    body: putBuildBody,
    lockRevision: lockBuildRevision,
    answer: buildAnswer,
    problems: [409],
    handle: async (ctx, { params, body }) => ({ body: await putBuild(ctx, params, body) }),
  }),
  endpoint({
    ...buildRoute,
    method: 'delete',
    operationId: 'deleteBuild',
    summary: 'Delete the build of a channel and tag',
    description: 'Active runs keep their build.',
    needs: ['organization', 'w'],
    lockRevision: lockBuildRevision,
    status: 204,
    handle: (ctx, { params }) => deleteBuild(ctx, params),
  }),
]
