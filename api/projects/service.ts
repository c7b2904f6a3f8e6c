import { authorise, pathOf } from '#api/auth/authorise.ts'
import type { Context } from '#api/context.ts'
import type { CreateProject } from './schema.ts'
import { projects } from './table.ts'

/** Makes a project in the organization of the headers. */
export const createProject = async (ctx: Context, input: CreateProject): Promise<{ projectId: string }> => {
  authorise(ctx, pathOf(ctx.organizationId), 'w')
  const id = ctx.newId('project')
  const now = new Date(ctx.clock.now())
  await ctx.db
    .insert(projects)
    .values({ id, organizationId: ctx.organizationId, name: input.name, createdAt: now, updatedAt: now })
  return { projectId: id }
}
