import * as z from 'zod'
import type { Context } from '#api/domain/access/context.ts'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { eventsEndpoint } from '#api/domain/events/endpoints.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import {
  botsExist,
  createBots,
  deleteBots,
  getBots,
  listBotEvents,
  listBots,
  lockBotsRevision,
  patchBots,
} from './bots.ts'
import { botsAnswer, createBotsBody, patchBotsBody } from './schema.ts'

const botsRoute = { path: '/api/worlds/{worldId}/bots/', tag: 'Bots', scope: 'project' } as const
const botRoute = {
  ...botsRoute,
  path: '/api/worlds/{worldId}/bots/{botDeploymentId}/',
  exists: (ctx: Context, { worldId = '', botDeploymentId = '' }: Readonly<Record<string, string>>) =>
    botsExist(ctx, { worldId, botDeploymentId }),
} as const
const botsPath = (worldId: string): string => `/api/worlds/${worldId}/bots/`

/** The endpoints of the bot deployments of a world. */
export const botEndpoints = [
  endpoint({
    ...botsRoute,
    method: 'get',
    operationId: 'listBotDeployments',
    summary: 'List the bot deployments of a world',
    description: 'Returns the bot deployments of the world, oldest first.',
    needs: ['world', 'r'],
    query: pageQuery,
    answer: z.array(botsAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => toPageReply(await listBots(ctx, params.worldId, toPage(query))),
  }),
  endpoint({
    ...botsRoute,
    method: 'post',
    operationId: 'createBotDeployment',
    summary: 'Create a bot deployment',
    description: 'The bots run while the world is Active. The Location header names the new deployment.',
    needs: ['world', 'w'],
    body: createBotsBody,
    idempotent: true,
    answerHeaders: ['location'],
    problems: [409],
    handle: async (ctx, { params, body }) => {
      const { botDeploymentId } = await createBots(ctx, { ...params, ...body })
      return { headers: { location: `${botsPath(params.worldId)}${botDeploymentId}/` } }
    },
  }),
  endpoint({
    ...botRoute,
    method: 'get',
    operationId: 'getBotDeployment',
    description: 'Its entity tag can be sent as If-Match with each change.',
    summary: 'Read a bot deployment',
    needs: ['world', 'r'],
    answer: botsAnswer,
    answerHeaders: ['etag'],
    handle: (ctx, { params }) => getBots(ctx, params),
  }),
  endpoint({
    ...botRoute,
    method: 'patch',
    operationId: 'patchBotDeployment',
    summary: 'Change the count of a bot deployment and the settings of its next bots',
    description: 'Scales in place and keeps the lowest indexes. Other settings act on pods that are made later.',
    needs: ['world', 'w'],
    body: patchBotsBody,
    created: createBotsBody,
    lockRevision: lockBotsRevision,
    problems: [409],
    handle: (ctx, { params, body }) => patchBots(ctx, { ...params, changes: body }),
  }),
  endpoint({
    ...botRoute,
    method: 'delete',
    operationId: 'deleteBotDeployment',
    summary: 'Delete a bot deployment and stop its bots',
    description: 'The deployment is absent at once. Its bots stop afterwards.',
    needs: ['world', 'w'],
    lockRevision: lockBotsRevision,
    handle: (ctx, { params }) => deleteBots(ctx, params),
  }),
  eventsEndpoint({
    ...botRoute,
    path: '/api/worlds/{worldId}/bots/{botDeploymentId}/events/',
    operationId: 'listBotDeploymentEvents',
    summary: 'List the recent events of a bot deployment, newest first',
    description: 'Starts, ends and problems of the bots. A bot deployment keeps its newest 100 events.',
    list: listBotEvents,
  }),
]
