import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Context as HonoContext } from 'hono'
import { onInvalid } from '#api/invalid.ts'
import {
  bodyProblems,
  type Env,
  emptyAnswer,
  guard,
  jsonAnswer,
  jsonBody,
  problems,
  scopeHeaders,
} from '#api/openapi.ts'
import { deploymentStatuses } from '#shared/enumerations.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { nextLink, pageOf, pageQuery } from './page.ts'
import { entityTag } from './present.ts'
import {
  createdWorld,
  createWorldBody,
  deploymentAnswer,
  patchWorldBody,
  scalingProfileAnswer,
  worldAnswer,
} from './schema.ts'
import {
  createWorld,
  deleteWorld,
  getWorld,
  listDeployments,
  listWorlds,
  patchWorld,
  startWorld,
  stopWorld,
} from './service.ts'

const worldId = z.object({ worldId: z.string() })
const inProject = { headers: scopeHeaders('project') }
const onWorld = { ...inProject, params: worldId }

const scalingProfilesRoute = createRoute({
  method: 'get',
  path: '/api/worlds/scalingProfiles/',
  operationId: 'listScalingProfiles',
  summary: 'List the scaling profiles',
  ...guard('none'),
  responses: { ...problems('none'), ...jsonAnswer(z.array(scalingProfileAnswer), 'Every profile, smallest first.') },
})

const list = createRoute({
  method: 'get',
  path: '/api/worlds/',
  operationId: 'listWorlds',
  summary: 'List the worlds of an organization, or of one project of it',
  ...guard('organization?project'),
  request: { headers: scopeHeaders('organization?project'), query: pageQuery },
  responses: { ...problems('organization?project'), ...jsonAnswer(z.array(worldAnswer), 'One page, oldest first.') },
})

const create = createRoute({
  method: 'post',
  path: '/api/worlds/',
  operationId: 'createWorld',
  summary: 'Make a world',
  ...guard('project', { body: true, depth: 'project' }),
  request: { ...inProject, body: jsonBody(createWorldBody) },
  responses: { ...problems('project', 403, ...bodyProblems), ...jsonAnswer(createdWorld, 'Made.') },
})

const read = createRoute({
  method: 'get',
  path: '/api/worlds/{worldId}/',
  operationId: 'getWorld',
  summary: 'Read a world',
  ...guard('project'),
  request: onWorld,
  responses: { ...problems('project'), ...jsonAnswer(worldAnswer, 'The world, with its launch context.') },
})

const patch = createRoute({
  method: 'patch',
  path: '/api/worlds/{worldId}/',
  operationId: 'patchWorld',
  summary: 'Change a world',
  ...guard('project', { body: true, depth: 'world' }),
  request: { ...onWorld, body: jsonBody(patchWorldBody) },
  responses: { ...problems('project', 403, 412, ...bodyProblems), ...jsonAnswer(worldAnswer, 'The changed world.') },
})

const remove = createRoute({
  method: 'delete',
  path: '/api/worlds/{worldId}/',
  operationId: 'deleteWorld',
  summary: 'Delete a world',
  ...guard('project'),
  request: onWorld,
  responses: { ...problems('project', 403), ...emptyAnswer },
})

const start = createRoute({
  method: 'post',
  path: '/api/worlds/{worldId}/start/',
  operationId: 'startWorld',
  summary: 'Start a new run of a world',
  ...guard('project'),
  request: onWorld,
  responses: { ...problems('project', 403, 422), ...emptyAnswer },
})

const stop = createRoute({
  method: 'post',
  path: '/api/worlds/{worldId}/stop/',
  operationId: 'stopWorld',
  summary: 'Stop a world',
  ...guard('project'),
  request: onWorld,
  responses: { ...problems('project', 403), ...emptyAnswer },
})

const statuses = z.array(z.enum(deploymentStatuses)).max(deploymentStatuses.length * 2)
const deploymentsRoute = createRoute({
  method: 'get',
  path: '/api/worlds/{worldId}/deployments/',
  operationId: 'listWorldDeployments',
  summary: 'List the runs of a world',
  ...guard('project'),
  request: {
    ...onWorld,
    query: z.object({
      status: z
        .union([z.string(), z.array(z.string())])
        .optional()
        .transform((given) => [given ?? []].flat().flatMap((each) => each.split(',')))
        .pipe(statuses)
        .openapi({ type: 'array', items: { type: 'string', enum: [...deploymentStatuses] } }),
    }),
  },
  responses: { ...problems('project'), ...jsonAnswer(z.array(deploymentAnswer), 'One a run, oldest first.') },
})

const empty = (c: HonoContext): Response => c.body(null, 200)

/** The routes of worlds. */
export const worldRoutes = new OpenAPIHono<Env>({ defaultHook: onInvalid })
  .openapi(scalingProfilesRoute, (c) =>
    c.json(
      Object.values(scalingProfiles).map(({ name, capacity, memoryLimit }) => ({
        name,
        estimatedCapacity: capacity,
        maxBotsPerWorld: capacity,
        resourceConfiguration: { server: { memoryLimit } },
      })),
      200,
    ),
  )
  .openapi(list, async (c) => {
    const query = c.req.valid('query')
    const { items, next } = await listWorlds(c.get('context'), pageOf(query))
    return c.json(items, 200, next ? { link: nextLink(c.req.path, query.limit, next) } : {})
  })
  .openapi(create, async (c) => c.json(await createWorld(c.get('context'), c.req.valid('json')), 200))
  .openapi(read, async (c) => {
    const { world, row } = await getWorld(c.get('context'), c.req.param('worldId'))
    return c.json(world, 200, { etag: entityTag(row) })
  })
  .openapi(patch, async (c) => {
    const ifMatch = c.req.header('if-match')
    const input = { worldId: c.req.param('worldId'), changes: c.req.valid('json'), ...(ifMatch ? { ifMatch } : {}) }
    const { world, row } = await patchWorld(c.get('context'), input)
    return c.json(world, 200, { etag: entityTag(row) })
  })
  .openapi(remove, async (c) => {
    await deleteWorld(c.get('context'), c.req.param('worldId'))
    return empty(c)
  })
  .openapi(start, async (c) => {
    await startWorld(c.get('context'), c.req.param('worldId'))
    return empty(c)
  })
  .openapi(stop, async (c) => {
    await stopWorld(c.get('context'), c.req.param('worldId'))
    return empty(c)
  })
  .openapi(deploymentsRoute, async (c) => {
    const input = { worldId: c.req.param('worldId'), statuses: c.req.valid('query').status }
    return c.json(await listDeployments(c.get('context'), input), 200)
  })
