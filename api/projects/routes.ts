import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import { onInvalid } from '#api/invalid.ts'
import { bodyProblems, type Env, guard, jsonAnswer, jsonBody, problems, scopeHeaders } from '#api/openapi.ts'
import { createdProject, createProjectBody } from './schema.ts'
import { createProject } from './service.ts'

const create = createRoute({
  method: 'post',
  path: '/api/organizations/projects/',
  operationId: 'createProject',
  summary: 'Make a project',
  ...guard('organization', { body: true, depth: 'organization' }),
  request: { headers: scopeHeaders('organization'), body: jsonBody(createProjectBody) },
  responses: { ...problems('organization', 403, ...bodyProblems), ...jsonAnswer(createdProject, 'Made.') },
})

/** The routes of projects. */
export const projectRoutes = new OpenAPIHono<Env>({ defaultHook: onInvalid }).openapi(create, async (c) =>
  c.json(await createProject(c.get('context'), c.req.valid('json')), 200),
)
