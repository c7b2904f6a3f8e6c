import { z } from '@hono/zod-openapi'
import { idPattern } from '#shared/ids.ts'

/** The body of `POST /api/organizations/projects/`. */
export const createProjectBody = z
  .strictObject({ name: z.string().min(1).max(128).openapi({ example: 'Showroom' }) })
  .openapi('CreateProject')

/** The answer of `POST /api/organizations/projects/`. */
export const createdProject = z
  .object({ projectId: z.string().regex(new RegExp(idPattern('project'))) })
  .openapi('CreatedProject')

export type CreateProject = z.output<typeof createProjectBody>
