import type { Context, ScopeIds } from '#api/domain/access/context.ts'
import type { Depth, Node } from '#api/domain/endpoint/endpoint.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { isId } from '#shared/ids.ts'

const depths: Partial<Record<string, Depth>> = { Organization: 'organization', Project: 'project', World: 'world' }
/** Where a document is: its node in the tree, and its own id there. */
export type Place = Node & { readonly id: string }

/**
 * Where an id leads from a scope. Its first part may name the scope (`World:settings`); without one it is the narrowest
 * scope that the headers give. Where the headers name no project or world, an id that is one itself names it.
 */
export const placeOf = (scope: ScopeIds, given: string): Place => {
  const { depth, id } = namedScope(scope, given)
  const worldId = depth === 'world' ? scope.worldId || itself('world', id) : ''
  const projectId =
    depth === 'organization' ? '' : scope.projectId || (depth === 'project' ? itself('project', id) : '')
  refuseUnknown({ depth, projectId, worldId, id })
  return { depth, organizationId: scope.organizationId, projectId, worldId, id }
}

const namedScope = (scope: ScopeIds, given: string): { depth: Depth; id: string } => {
  const colon = given.indexOf(':')
  const named = colon < 0 ? undefined : depths[given.slice(0, colon)]
  if (named !== undefined) return { depth: named, id: given.slice(colon + 1) }
  if (scope.worldId !== '') return { depth: 'world', id: given }
  return { depth: scope.projectId === '' ? 'organization' : 'project', id: given }
}

const itself = (kind: 'project' | 'world', id: string): string => (isId(kind, id) ? id : '')

const refuseUnknown = ({ depth, projectId, worldId, id }: Omit<Place, 'organizationId'>): void => {
  const missing = [
    ...(depth !== 'organization' && projectId === '' ? ['x-svc-project-id'] : []),
    ...(depth === 'world' && worldId === '' ? ['x-svc-world-id'] : []),
    ...(id === '' ? ['path:/id'] : []),
  ]
  if (missing.length === 0) return
  const errors = missing.map((path) => ({ path, message: `is needed for a document of the scope ${depth}` }))
  throw new Problem('invalid_request', 'The scope of the document is not known.', { errors })
}

/** The node whose permissions count for a document. */
export const nodeOfDocument = (ctx: Context, { id = '' }: Readonly<Record<string, string>>): Node => {
  const { id: _, ...node } = placeOf(ctx, id)
  return node
}
