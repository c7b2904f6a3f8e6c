import * as z from 'zod'
import { resolveBuildAndContent } from '#api/domain/builds/builds.ts'
import { buildReference } from '#api/domain/builds/schema.ts'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { eventsEndpoint } from '#api/domain/events/endpoints.ts'
import { setPicture } from '#api/domain/pictures/pictures.ts'
import { toPage } from '#api/platform/http/page.ts'
import { listWorldEvents } from './change.ts'
import { worldExample } from './examples.ts'
import { countWorlds, listWorlds } from './listing/listing.ts'
import { toWorldPage } from './listing/order.ts'
import { deploymentsQuery, worldFilters, worldsQuery } from './listing/query.ts'
import { getWorld } from './lookup.ts'
import { deploymentAnswer } from './runs/schema.ts'
import {
  createdWorld,
  createWorldBody,
  patchWorldBody,
  scalingProfileAnswer,
  sparseWorld,
  wokenWorld,
  worldAnswer,
  worldCounts,
} from './schema.ts'
import { startWorld } from './start.ts'
import { wakeWorld } from './wake.ts'
import { whyAnswer } from './why/schema.ts'
import { explainWorldState } from './why/why.ts'
import { createWorld, listDeployments, lockWorldRevision, patchWorld, setWorldPicture, stopWorld } from './worlds.ts'

const tag = 'Worlds'
const path = '/api/worlds/'
const worldRoute = { path: '/api/worlds/{worldId}/', tag, scope: 'project' } as const

/** Endpoints to list, create, change, start and stop worlds. Deletion and restore are in `deletion/`. */
export const worldEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/worlds/scalingProfiles/',
    operationId: 'listScalingProfiles',
    summary: 'List the scaling profiles, smallest first',
    description: 'Returns the twelve profiles with their capacity and memory.',
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
    description:
      'Returns the worlds that the caller can read, oldest first, or in the order of `sort`. The project header and the filters restrict the list.',
    tag,
    scope: 'organization?project',
    query: worldsQuery,
    answer: z.array(z.union([worldAnswer, sparseWorld]).meta({ title: 'ListedWorld', examples: [worldExample] })),
    answerHeaders: ['link'],
    problems: [404],
    handle: async (ctx, { query }) => {
      const { limit: _, cursor: __, sort: ___, fields, ...filter } = query
      return toPageReply(await listWorlds(ctx, toWorldPage(query), { filter, fields }))
    },
  }),
  endpoint({
    method: 'get',
    path: '/api/worlds/counts/',
    operationId: 'countWorlds',
    summary: 'Count the worlds of an organization or of one of its projects, by phase',
    description: 'Counts the worlds that `listWorlds` would return with the same headers and filters.',
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
    description: 'Only `name` and `transient` are required. The launch context is created in the same transaction.',
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
    description: 'Answers 204 if exactly one build results, and 422 with the missing part otherwise.',
    tag,
    scope: 'project',
    needs: ['project', 'r'],
    body: buildReference,
    status: 204,
    problems: [422],
    handle: (ctx, { body }) => resolveBuildAndContent(ctx, body),
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    operationId: 'getWorld',
    description: 'Its entity tag can be sent as If-Match with each change.',
    summary: 'Read a world with its launch context',
    needs: ['world', 'r'],
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: (ctx, { params }) => getWorld(ctx, params.worldId),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    operationId: 'patchWorld',
    summary: 'Change a world. Absent fields stay; an object replaces the previous one as a whole',
    description: 'Settings of the server take effect at the next start; `status.message` names the pending ones.',
    needs: ['world', 'w'],
    body: patchWorldBody,
    created: createWorldBody,
    lockRevision: lockWorldRevision,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    problems: [409],
    handle: (ctx, { params, body }) => patchWorld(ctx, { worldId: params.worldId, changes: body }),
  }),
  endpoint({
    ...worldRoute,
    method: 'patch',
    path: '/api/worlds/{worldId}/pictureUrl/',
    operationId: 'putWorldPicture',
    summary: 'Set the picture of a world',
    needs: ['world', 'w'],
    upload: true,
    lockRevision: lockWorldRevision,
    answer: worldAnswer,
    answerHeaders: ['etag'],
    handle: (ctx, { params, body }) =>
      setPicture(ctx, params.worldId, body, (url) => setWorldPicture(ctx, params.worldId, url)),
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/start/',
    operationId: 'startWorld',
    summary: 'Start a new run of a world, whatever its state',
    description: 'Records a new run and answers at once. Follow `status.phase` for the result.',
    needs: ['world', 'w'],
    throttled: 'world',
    lockRevision: lockWorldRevision,
    problems: [409, 422],
    handle: (ctx, { params }) => startWorld(ctx, params.worldId),
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/stop/',
    operationId: 'stopWorld',
    summary: 'Stop a world. Its server drains afterwards',
    description: 'The phase is Stopped at once. The server drains afterwards.',
    needs: ['world', 'w'],
    throttled: 'world',
    lockRevision: lockWorldRevision,
    handle: (ctx, { params }) => stopWorld(ctx, params.worldId),
  }),
  endpoint({
    ...worldRoute,
    method: 'post',
    path: '/api/worlds/{worldId}/wake/',
    operationId: 'wakeWorld',
    summary: 'Wake a world that sleeps',
    description:
      'Starts a run if the world sleeps. If `runtime.wakeOnAccess` is Never, this needs `w` on the world. A world in another state stays as it is. Returns the phase, and the address once there is one. A world is woken once a minute, and a caller wakes 6 worlds a minute.',
    needs: ['world', 'r'],
    auditsItself: true,
    answer: wokenWorld,
    problems: [403, 409, 422],
    handle: async (ctx, { params }) => ({ body: await wakeWorld(ctx, params.worldId) }),
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    path: '/api/worlds/{worldId}/why/',
    operationId: 'explainWorld',
    summary: 'Explain the state of a world, and what to do about it',
    description: 'Says in a sentence why a world is not running, from its conditions and its newest run.',
    needs: ['world', 'r'],
    answer: whyAnswer,
    handle: async (ctx, { params }) => ({ body: await explainWorldState(ctx, params.worldId) }),
  }),
  eventsEndpoint({
    ...worldRoute,
    path: '/api/worlds/{worldId}/events/',
    operationId: 'listWorldEvents',
    summary: 'List the recent events of a world, newest first',
    description: 'Starts, stops, restarts, ends and problems. A world keeps its newest 100 events.',
    list: listWorldEvents,
  }),
  endpoint({
    ...worldRoute,
    method: 'get',
    path: '/api/worlds/{worldId}/deployments/',
    operationId: 'listWorldDeployments',
    summary: 'List the runs of a world, oldest first',
    description: 'Returns one deployment for each run. The status filter selects some of them.',
    needs: ['world', 'r'],
    query: deploymentsQuery,
    answer: z.array(deploymentAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) =>
      toPageReply(await listDeployments(ctx, { worldId: params.worldId, statuses: query.status, page: toPage(query) })),
  }),
]
