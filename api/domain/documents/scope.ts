import type { Context } from '#api/domain/access/context.ts'
import type { ScopeIds, ScopeKind, ScopeRef } from '#api/domain/access/scope.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { isId } from '#shared/ids.ts'

const kinds: Partial<Record<string, ScopeKind>> = { Organization: 'organization', Project: 'project', World: 'world' }
/** Where a document is: its scope, and its own id there. */
export type Place = ScopeRef & { readonly id: string }

/**
 * Where an id leads from a scope. Its first part may name the scope (`World:settings`); without one it is the narrowest
 * scope that the headers give. Where the headers name no project or world, an id that is one itself names it.
 */
export const placeOf = (scope: ScopeIds, given: string): Place => {
  const { kind, id } = namedScope(scope, given)
  const worldId = kind === 'world' ? scope.worldId || itself('world', id) : ''
  const projectId = kind === 'organization' ? '' : scope.projectId || (kind === 'project' ? itself('project', id) : '')
  refuseUnknown({ kind, projectId, worldId, id })
  return { kind, organizationId: scope.organizationId, projectId, worldId, id }
}

const namedScope = (scope: ScopeIds, given: string): { kind: ScopeKind; id: string } => {
  const colon = given.indexOf(':')
  const named = colon < 0 ? undefined : kinds[given.slice(0, colon)]
  if (named !== undefined) return { kind: named, id: given.slice(colon + 1) }
  if (scope.worldId !== '') return { kind: 'world', id: given }
  return { kind: scope.projectId === '' ? 'organization' : 'project', id: given }
}

const itself = (kind: 'project' | 'world', id: string): string => (isId(kind, id) ? id : '')

const refuseUnknown = ({ kind, projectId, worldId, id }: Omit<Place, 'organizationId'>): void => {
  const missing = [
    ...(kind !== 'organization' && projectId === '' ? ['x-svc-project-id'] : []),
    ...(kind === 'world' && worldId === '' ? ['x-svc-world-id'] : []),
    ...(id === '' ? ['path:/id'] : []),
  ]
  if (missing.length === 0) return
  const errors = missing.map((path) => ({ path, message: `is needed for a document of the scope ${kind}` }))
  throw new Problem('invalid_request', 'The scope of the document is not known.', { errors })
}

/** Returns the scope whose permissions count for a document. */
export const scopeOfDocument = (ctx: Context, { id = '' }: Readonly<Record<string, string>>): ScopeRef => {
  const { id: _, ...scope } = placeOf(ctx, id)
  return scope
}
