import { createRoute, OpenAPIHono } from '@hono/zod-openapi'
import { onInvalid } from '#api/invalid.ts'
import { bodyProblems, type Env, guard, jsonAnswer, jsonBody, problems } from '#api/openapi.ts'
import { createdOrganization, createOrganizationBody } from './schema.ts'
import { createOrganization } from './service.ts'

const create = createRoute({
  method: 'post',
  path: '/api/organizations/',
  operationId: 'createOrganization',
  summary: 'Make an organization',
  ...guard('none', { body: true }),
  request: { body: jsonBody(createOrganizationBody) },
  responses: { ...problems('none', 403, ...bodyProblems), ...jsonAnswer(createdOrganization, 'Made.') },
})

/** The routes of organizations. */
export const organizationRoutes = new OpenAPIHono<Env>({ defaultHook: onInvalid }).openapi(create, async (c) =>
  c.json(await createOrganization(c.get('context'), c.req.valid('json')), 200),
)
