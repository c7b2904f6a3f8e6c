import type { Context } from '#api/domain/access/context.ts'
import { botsExist } from '#api/domain/bots/bots.ts'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { readBotLog, readWorldLog } from './logs.ts'
import { botLogQuery, worldLogQuery } from './query.ts'

/** A log may hold secrets of the program, so reading it needs the same verb as changing the program. */
const logRoute = {
  method: 'get',
  scope: 'project',
  needs: ['world', 'w'],
  streams: ['text/plain', 'text/event-stream'],
  problems: [409, 501],
  answerDescription:
    'The log as text, or as server-sent events if Accept names text/event-stream: one event for each line, and a last event `end` with the reason.',
} as const

/** The endpoints of the logs of servers and bots. */
export const logEndpoints = [
  endpoint({
    ...logRoute,
    path: '/api/worlds/{worldId}/logs/',
    operationId: 'readWorldLog',
    summary: 'Read or follow the log of the server of a world',
    description:
      'Returns what the server writes to its standard output and error, while it has a pod. The last 64 KiB of a server that failed or ended by itself are kept, as best effort, for the newest 10 runs of a world. Needs the verb `w`, since a log may contain secrets. 409: the server has not started. 501: logs are turned off.',
    tag: 'Worlds',
    query: worldLogQuery,
    handle: async (ctx, { params, query, accept }) => ({
      stream: await readWorldLog(ctx, { ...params, ...query, accept }),
    }),
  }),
  endpoint({
    ...logRoute,
    path: '/api/worlds/{worldId}/bots/{botDeploymentId}/logs/',
    operationId: 'readBotLog',
    summary: 'Read or follow the log of a bot',
    description:
      'Returns what a running bot writes to its standard output and error. No log of a bot is kept. 409: the bot does not run. 501: logs are turned off.',
    tag: 'Bots',
    exists: (ctx: Context, { worldId = '', botDeploymentId = '' }: Readonly<Record<string, string>>) =>
      botsExist(ctx, { worldId, botDeploymentId }),
    query: botLogQuery,
    handle: async (ctx, { params, query, accept }) => ({
      stream: await readBotLog(ctx, { ...params, ...query, accept }),
    }),
  }),
]
