import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { deleteProject, deleteWorld } from './service.ts'

/** The endpoints that delete a project or a world with its contents. */
export const deletionEndpoints = [
  endpoint({
    path: '/api/organizations/projects/current/',
    tag: 'Projects',
    scope: 'project',
    method: 'delete',
    operationId: 'deleteProject',
    summary: 'Delete a project with its worlds, bots and documents',
    needs: ['project', 'w'],
    subtree: true,
    handle: async (ctx) => {
      await deleteProject(ctx)
      return {}
    },
  }),
  endpoint({
    path: '/api/worlds/{worldId}/',
    tag: 'Worlds',
    scope: 'project',
    method: 'delete',
    operationId: 'deleteWorld',
    summary: 'Delete a world with its bots and documents',
    needs: ['world', 'w'],
    handle: async (ctx, { params }) => {
      await deleteWorld(ctx, params.worldId)
      return {}
    },
  }),
]
