import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { buildAnswer, buildParams, putBuildBody } from './schema.ts'
import { deleteBuild, getBuild, putBuild } from './service.ts'

const onBuild = {
  path: '/api/builds/{channelId}/{tag}/',
  tag: 'Builds',
  scope: 'organization',
  params: buildParams,
} as const

/** The endpoints of builds. */
export const buildEndpoints = [
  endpoint({
    ...onBuild,
    method: 'get',
    operationId: 'getBuild',
    summary: 'Read what a channel and a tag stand for',
    needs: ['organization', 'r'],
    answer: buildAnswer,
    handle: async (ctx, { params }) => ({ body: await getBuild(ctx, params) }),
  }),
  endpoint({
    ...onBuild,
    method: 'put',
    operationId: 'putBuild',
    summary: 'Set what a channel and a tag stand for',
    needs: ['organization', 'w'],
    body: putBuildBody,
    answer: buildAnswer,
    problems: [409],
    handle: async (ctx, { params, body }) => ({ body: await putBuild(ctx, params, body) }),
  }),
  endpoint({
    ...onBuild,
    method: 'delete',
    operationId: 'deleteBuild',
    summary: 'Forget what a channel and a tag stand for',
    needs: ['organization', 'w'],
    status: 204,
    handle: async (ctx, { params }) => {
      await deleteBuild(ctx, params)
      return {}
    },
  }),
]
