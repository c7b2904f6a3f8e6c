import * as z from 'zod'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { lockOrganizationRevision } from '#api/domain/organizations/organizations.ts'
import { lockProjectRevision } from '#api/domain/projects/projects.ts'
import { lockWorldRevision } from '#api/domain/worlds/worlds.ts'
import { pageQuery, toPage } from '#api/platform/http/page.ts'
import { deleteOrganization, deleteProject, deleteWorld } from './deletion.ts'
import { purgeOrganization, purgeProject, purgeWorld } from './purge.ts'
import { listDeletedWorlds, restoreOrganization, restoreProject, restoreWorld } from './restore.ts'
import { deletedWorld } from './schema.ts'

const onOrganization = { tag: 'Organizations', scope: 'organization', needs: ['organization', 'r'] } as const
const onProject = { tag: 'Projects', scope: 'organization', needs: ['project', 'w'], subtree: true } as const
const onWorld = { tag: 'Worlds', scope: 'project' } as const

/** The endpoints that restore deleted organizations, projects and worlds, or erase them. */
const restoreEndpoints = [
  endpoint({
    ...onWorld,
    method: 'get',
    path: '/api/worlds/deleted/',
    operationId: 'listDeletedWorlds',
    summary: 'List the deleted worlds of a project that can be restored',
    description: 'Returns the deleted worlds of the project, oldest first.',
    needs: ['project', 'r'],
    query: pageQuery,
    answer: z.array(deletedWorld),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => toPageReply(await listDeletedWorlds(ctx, toPage(query))),
  }),
  endpoint({
    ...onWorld,
    method: 'post',
    path: '/api/worlds/{worldId}/restore/',
    operationId: 'restoreWorld',
    summary: 'Restore a deleted world with its bots, documents, deployments and picture',
    description:
      'The world is inactive, private and without a run. Answers 409 at a limit, and while its resource still exists.',
    needs: ['project', 'w'],
    status: 204,
    problems: [409],
    handle: (ctx, { params }) => restoreWorld(ctx, params.worldId),
  }),
  endpoint({
    ...onWorld,
    method: 'post',
    path: '/api/worlds/{worldId}/purge/',
    operationId: 'purgeWorld',
    summary: 'Erase a deleted world for good',
    description: 'Only a deleted world can be purged. It cannot be restored afterwards.',
    needs: ['project', 'w'],
    subtree: true,
    status: 204,
    handle: (ctx, { params }) => purgeWorld(ctx, params.worldId),
  }),
  endpoint({
    ...onProject,
    method: 'post',
    path: '/api/organizations/projects/{projectId}/restore/',
    operationId: 'restoreProject',
    summary: 'Restore a deleted project with the worlds that were deleted with it',
    description: 'Answers 409 at a limit, and while the resource of one of its worlds still exists in the cluster.',
    status: 204,
    problems: [409],
    handle: (ctx, { params }) => restoreProject(ctx, params.projectId),
  }),
  endpoint({
    ...onProject,
    method: 'post',
    path: '/api/organizations/projects/{projectId}/purge/',
    operationId: 'purgeProject',
    summary: 'Erase a deleted project for good',
    description: 'Only a deleted project can be purged. It cannot be restored afterwards.',
    status: 204,
    handle: (ctx, { params }) => purgeProject(ctx, params.projectId),
  }),
  endpoint({
    ...onOrganization,
    method: 'post',
    path: '/api/organizations/{organizationId}/restore/',
    operationId: 'restoreOrganization',
    summary: 'Restore a deleted organization with what was deleted with it',
    description:
      'Restores the projects and worlds that were deleted with it. Its keys are valid again. Answers 409 at a limit.',
    credential: 'key',
    platformOnly: true,
    actsOnDeleted: true,
    status: 204,
    problems: [403, 409],
    handle: (ctx) => restoreOrganization(ctx),
  }),
  endpoint({
    ...onOrganization,
    method: 'post',
    path: '/api/organizations/{organizationId}/purge/',
    operationId: 'purgeOrganization',
    summary: 'Erase a deleted organization for good',
    description: 'Only a deleted organization can be purged. It cannot be restored afterwards.',
    credential: 'key',
    platformOnly: true,
    actsOnDeleted: true,
    status: 204,
    problems: [403],
    handle: (ctx) => purgeOrganization(ctx),
  }),
]

/** The endpoints that delete an organization, a project or a world with its contents. */
export const deletionEndpoints = [
  ...restoreEndpoints,
  endpoint({
    ...onOrganization,
    method: 'delete',
    path: '/api/organizations/{organizationId}/',
    operationId: 'deleteOrganization',
    summary: 'Delete an organization with everything in it',
    description: 'Its keys are invalid at once. It can be restored until its rows are erased.',
    lockRevision: lockOrganizationRevision,
    credential: 'key',
    platformOnly: true,
    status: 204,
    problems: [403],
    handle: (ctx) => deleteOrganization(ctx),
  }),
  endpoint({
    path: '/api/organizations/projects/current/',
    tag: 'Projects',
    scope: 'project',
    method: 'delete',
    operationId: 'deleteProject',
    summary: 'Delete a project with its worlds, bots and documents',
    description: 'Deletes the project with its worlds, bots and documents. Needs `w` on all of them.',
    lockRevision: lockProjectRevision,
    needs: ['project', 'w'],
    subtree: true,
    handle: (ctx) => deleteProject(ctx),
  }),
  endpoint({
    path: '/api/worlds/{worldId}/',
    tag: 'Worlds',
    scope: 'project',
    method: 'delete',
    operationId: 'deleteWorld',
    summary: 'Delete a world with its bots and documents',
    description: 'The world is absent at once. Its bots, pods and resources follow.',
    lockRevision: lockWorldRevision,
    needs: ['world', 'w'],
    handle: (ctx, { params }) => deleteWorld(ctx, params.worldId),
  }),
]
