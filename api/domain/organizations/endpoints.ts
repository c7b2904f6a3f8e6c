import * as z from 'zod'
import { limits, patchLimitsBody } from '#api/domain/access/limits.ts'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { setPicture } from '#api/domain/pictures/pictures.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import {
  createOrganization,
  getPublicOrganization,
  listOrganizations,
  lockOrganizationRevision,
  patchLimits,
  patchOrganization,
  setOrganizationPicture,
} from './organizations.ts'
import {
  createdOrganization,
  createOrganizationBody,
  organizationAnswer,
  patchOrganizationBody,
  publicOrganization,
} from './schema.ts'

const tag = 'Organizations'

/** The organization is named by the header alone or by the path as well. */
const bothForms = [
  { path: '/api/organizations/current/', suffix: '' },
  { path: '/api/organizations/{organizationId}/', suffix: 'ById' },
] as const

/** Endpoints of organizations, by id and for that of the caller (`current`). Only the platform key changes limits. */
export const organizationEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/organizations/',
    operationId: 'listOrganizations',
    summary: 'List the organizations that the key can read',
    description: 'Returns the organizations on which the key has a verb, oldest first.',
    tag,
    query: pageQuery,
    answer: z.array(organizationAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => toPageReply(await listOrganizations(ctx, toPage(query))),
  }),
  endpoint({
    method: 'post',
    path: '/api/organizations/',
    operationId: 'createOrganization',
    summary: 'Create an organization',
    description: 'Needs the platform key or the claim `createOrganization`. The key gets `*` on the organization.',
    credential: 'key',
    tag,
    claim: 'createOrganization',
    body: createOrganizationBody,
    idempotent: true,
    answer: createdOrganization,
    problems: [403, 409],
    handle: async (ctx, { body }) => ({ body: await createOrganization(ctx, body) }),
  }),
  ...bothForms.flatMap(({ path, suffix }) => [
    endpoint({
      method: 'get',
      path,
      operationId: `getOrganization${suffix}`,
      summary: 'Read the public fields of an organization',
      description: 'Needs no credential. Returns the public fields only.',
      tag,
      credential: 'none',
      scope: 'organization',
      answer: publicOrganization,
      answerHeaders: ['etag'],
      problems: [404],
      handle: getPublicOrganization,
    }),
    endpoint({
      method: 'patch',
      path,
      operationId: `patchOrganization${suffix}`,
      summary: 'Change an organization',
      description: 'Absent fields stay. A supplied object replaces the previous one as a whole.',
      tag,
      scope: 'organization',
      needs: ['organization', 'w'],
      body: patchOrganizationBody,
      created: createOrganizationBody,
      lockRevision: lockOrganizationRevision,
      status: 204,
      handle: (ctx, { body }) => patchOrganization(ctx, body),
    }),
    endpoint({
      method: 'patch',
      path: `${path}pictureUrl/`,
      operationId: `putOrganizationPicture${suffix}`,
      summary: 'Set the picture of an organization',
      tag,
      scope: 'organization',
      needs: ['organization', 'w'],
      upload: true,
      lockRevision: lockOrganizationRevision,
      answer: organizationAnswer,
      handle: async (ctx, { body }) => ({
        body: await setPicture(ctx, ctx.organizationId, body, (url) => setOrganizationPicture(ctx, url)),
      }),
    }),
  ]),
  endpoint({
    method: 'patch',
    path: '/api/organizations/{organizationId}/limits/',
    operationId: 'patchLimits',
    summary: 'Set limits of an organization; omitted limits stay unchanged',
    description: 'Needs the platform key. Returns all limits of the organization.',
    credential: 'key',
    tag,
    scope: 'organization',
    needs: ['organization', 'r'],
    platformOnly: true,
    body: patchLimitsBody,
    lockRevision: lockOrganizationRevision,
    answer: limits,
    problems: [403],
    handle: async (ctx, { body }) => ({ body: await patchLimits(ctx, body) }),
  }),
]
