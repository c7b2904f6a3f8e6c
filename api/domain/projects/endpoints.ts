import * as z from 'zod'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import { createProject, getProject, listProjects, lockProjectRevision, patchProject } from './projects.ts'
import { createdProject, createProjectBody, patchedProject, patchProjectBody, projectAnswer } from './schema.ts'

const tag = 'Projects'
const path = '/api/organizations/projects/'
const currentRoute = { path: '/api/organizations/projects/current/', tag, scope: 'project' } as const

/** Endpoints to list, create, read and change projects. Deletion and restore are in `deletion/`. */
export const projectEndpoints = [
  endpoint({
    method: 'get',
    path,
    operationId: 'listProjects',
    summary: 'List the projects that the caller can read',
    description: 'Returns the projects on which the caller has a verb, oldest first.',
    tag,
    scope: 'organization',
    query: pageQuery,
    answer: z.array(projectAnswer),
    answerHeaders: ['link'],
    problems: [404],
    handle: async (ctx, { query }) => toPageReply(await listProjects(ctx, toPage(query))),
  }),
  endpoint({
    method: 'post',
    path,
    operationId: 'createProject',
    summary: 'Create a project',
    description: 'Needs `w` on the organization.',
    tag,
    scope: 'organization',
    needs: ['organization', 'w'],
    body: createProjectBody,
    idempotent: true,
    answer: createdProject,
    problems: [409],
    handle: async (ctx, { body }) => ({ body: await createProject(ctx, body) }),
  }),
  endpoint({
    ...currentRoute,
    method: 'get',
    operationId: 'getProject',
    summary: 'Read a project',
    description: 'Returns the project of the header x-svc-project-id.',
    needs: ['project', 'r'],
    answer: projectAnswer,
    answerHeaders: ['etag'],
    handle: getProject,
  }),
  endpoint({
    ...currentRoute,
    method: 'patch',
    operationId: 'patchProject',
    summary: 'Rename a project',
    description: 'Renames the project. `documentId` may be left out; otherwise it must equal the header.',
    needs: ['project', 'w'],
    body: patchProjectBody,
    lockRevision: lockProjectRevision,
    answer: patchedProject,
    handle: async (ctx, { body }) => ({ body: await patchProject(ctx, body) }),
  }),
]
