import * as z from 'zod'
import type { Context } from '#api/domain/access/context.ts'
import { type Description, type Endpoint, endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { type Page, type Paged, pageQuery, toPage } from '#api/platform/http/page.ts'
import { notFound } from '#api/platform/http/problem.ts'
import { type EventAnswer, eventAnswer } from './schema.ts'

type Route = Omit<Description, 'method' | 'needs' | 'query' | 'answer'> & {
  readonly list: (ctx: Context, ownerId: string, page: Page) => Promise<Paged<EventAnswer>>
}

/** Returns the endpoint that lists the events of the world or the bot deployment of a path. */
export const eventsEndpoint = ({ list, ...route }: Route): Endpoint =>
  endpoint({
    ...route,
    method: 'get',
    needs: ['world', 'r'],
    query: pageQuery,
    answer: z.array(eventAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => {
      const ids: Readonly<Record<string, string>> = params
      const { worldId = '', botDeploymentId = worldId } = ids
      const { organizationId, projectId } = ctx
      const isFound = route.exists?.(ctx, ids) ?? ctx.scopeExists('world', { organizationId, projectId, worldId })
      if (!(await isFound)) throw notFound()
      return toPageReply(await list(ctx, botDeploymentId, toPage(query)))
    },
  })
