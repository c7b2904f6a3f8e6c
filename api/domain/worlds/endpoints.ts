import * as z from 'zod'
import { resolveBuildAndContent } from '#api/domain/builds/builds.ts'
import { buildReference } from '#api/domain/builds/schema.ts'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { eventAnswer } from '#api/domain/events/schema.ts'
import { setPicture } from '#api/domain/pictures/pictures.ts'
import { entityTag } from '#api/platform/http/entityTag.ts'
import { nextPageLink, pageQuery, toPage } from '#api/platform/http/page.ts'
import { listWorldEvents } from './events/events.ts'
import { worldExample } from './examples.ts'
import { countWorlds, listWorlds } from './listing/listing.ts'
import { toWorldPage } from './listing/order.ts'
import { deploymentsQuery, worldFilters, worldsQuery } from './listing/query.ts'
import { getWorld, type TaggedWorld } from './lookup.ts'
import { deploymentAnswer } from './runs/schema.ts'
import {
  createdWorld,
  createWorldBody,
  patchWorldBody,
  scalingProfileAnswer,
  sparseWorld,
  worldAnswer,
  worldCounts,
} from './schema.ts'
import { createWorld, listDeployments, patchWorld, setWorldPicture, startWorld, stopWorld } from './worlds.ts'

const tag = 'Worlds'
const path = '/api/worlds/'
const worldRoute = { path: '/api/worlds/{worldId}/', tag, scope: 'project' } as const
const toTaggedAnswer = ({ world, ...versions }: TaggedWorld) => ({
  body: world,
  headers: { etag: entityTag(versions) },
})

/** Endpoints to list, create, change, start and stop worlds. Deletion and restore are in `deletion/`. */
export const worldEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/worlds/scalingProfiles/',
    operationId: 'listScalingProfiles',
    summary: 'List the scaling profiles, smallest first',
    tag,
    answer: z.array(scalingProfileAnswer),
    handle: async ({ profiles }) => ({
      body: Object.values(profiles).map(({ name, capacity, memoryLimit }) => ({
        name,
        estimatedCapacity: capacity,
        maxBotsPerWorld: capacity,
        resourceConfiguration: { server: { memoryLimit } },
      })),
    }),
  }),
  endpoint({
    method: 'get',
    path,
    operationId: 'listWorlds',
    summary: 'List the worlds of an organization or of one of its projects',
    tag,
    scope: 'organization?project',
    query: worldsQuery,
    answer: z.array(z.union([worldAnswer, sparseWorld]).meta({ title: 'ListedWorld', examples: [worldExample] })),
    answerHeaders: ['link'],
    problems: [404],
    handle: async (ctx, { query }) => {
      const page = toWorldPage(query)
      const { limit: _, cursor: __, sort, fields, ...filter } = query
      const { items, next } = await listWorlds(ctx, page, { filter, fields })
      return { body: items, headers: nextPageLink(path, page, next, { ...filter, sort, fields }) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/api/worlds/counts/',
    operationId: 'countWorlds',
    summary: 'Count the worlds of an organization or of one of its projects, by phase',
    tag,
    scope: 'organization?project',
    query: worldFilters,
    answer: worldCounts,
    problems: [404],
    handle: async (ctx, { query }) => ({ body: await countWorlds(ctx, query) }),
  }),
  endpoint({
    method: 'post',
    path,
    operationId: 'createWorld',
    summary: 'Create a world',
    tag,
    scope: 'project',
    needs: ['project', 'w'],
    body: createWorldBody,
    idempotent: true,
    answer: createdWorld,
    problems: [403, 409],
    handle: async (ctx, { body }) => ({ body: await createWorld(ctx, body) }),
  }),
  endpoint({
    method: 'post',
    path: '/api/worlds/resolveBuildAndContent/',
    operationId: 'resolveBuildAndContent',
    summary: 'Check that a build reference can be resolved',
    tag,
    scope: 'project',
    needs: ['project', 'r'],
    body: buildReference,
    status: 204,
    problems: [422],
    handle: async (ctx, { body }) => {
      await resolveBuildAndContent(ctx, body)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    operationId: 'getWorld',
    summary: 'Read a world with its launch context',
    needs: ['world', 'r'],
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: async (ctx, { params }) => toTaggedAnswer(await getWorld(ctx, params.worldId)),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    operationId: 'patchWorld',
    summary: 'Change a world. Absent fields stay; an object replaces the previous one as a whole',
    needs: ['world', 'w'],
    body: patchWorldBody,
    created: createWorldBody,
    ifMatch: true,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    problems: [409],
    handle: async (ctx, { params, body, ifMatch }) =>
      toTaggedAnswer(await patchWorld(ctx, { worldId: params.worldId, ifMatch, changes: body })),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    path: '/api/worlds/{worldId}/pictureUrl/',
    operationId: 'putWorldPicture',
    summary: 'Set the picture of a world',
    needs: ['world', 'w'],
    upload: true,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: async (ctx, { params, body }) =>
      toTaggedAnswer(await setPicture(ctx, params.worldId, body, (url) => setWorldPicture(ctx, params.worldId, url))),
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/start/',
    operationId: 'startWorld',
    summary: 'Start a new run of a world, whatever its state',
    needs: ['world', 'w'],
    throttled: 'world',
    problems: [409, 422],
    handle: async (ctx, { params }) => {
      await startWorld(ctx, params.worldId)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/stop/',
    operationId: 'stopWorld',
    summary: 'Stop a world. Its server drains afterwards',
    needs: ['world', 'w'],
    throttled: 'world',
    handle: async (ctx, { params }) => {
      await stopWorld(ctx, params.worldId)
      return {}
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    path: '/api/worlds/{worldId}/events/',
    operationId: 'listWorldEvents',
    summary: 'List the recent events of a world, newest first',
    needs: ['world', 'r'],
    query: pageQuery,
    answer: z.array(eventAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => {
      const page = toPage(query)
      const { items, next } = await listWorldEvents(ctx, { ...params, page })
      return { body: items, headers: nextPageLink(`${path}${params.worldId}/events/`, page, next) }
    },
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    path: '/api/worlds/{worldId}/deployments/',
    operationId: 'listWorldDeployments',
    summary: 'List the runs of a world, oldest first',
    needs: ['world', 'r'],
    query: deploymentsQuery,
    answer: z.array(deploymentAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => {
      const page = toPage(query)
      const input = { worldId: params.worldId, statuses: query.status, page }
      const { items, next } = await listDeployments(ctx, input)
      const filters = { status: query.status }
      return { body: items, headers: nextPageLink(`${path}${params.worldId}/deployments/`, page, next, filters) }
    },
  }),
]
