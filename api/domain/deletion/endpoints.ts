import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { deleteProject, deleteWorld } from './service.ts'

/** The endpoints that delete a scope with all that is in it. */
export const deletionEndpoints = [
  endpoint({
    path: '/api/organizations/projects/current/',
    tag: 'Projects',
    scope: 'project',
    method: 'delete',
    operationId: 'deleteProject',
    summary: 'Delete a project with everything beneath it',
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
    summary: 'Delete a world with its bots',
    needs: ['world', 'w'],
    handle: async (ctx, { params }) => {
      await deleteWorld(ctx, params.worldId)
      return {}
    },
  }),
]
