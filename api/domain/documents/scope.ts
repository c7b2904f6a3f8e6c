import type { Context } from '#api/domain/access/context.ts'
import type { ScopeIds, ScopeKind, ScopeRef } from '#api/domain/access/scope.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { isId } from '#shared/ids.ts'

const kinds: Partial<Record<string, ScopeKind>> = { Organization: 'organization', Project: 'project', World: 'world' }

/** The scope of a document and its id in the scope. */
export type DocumentRef = ScopeRef & { readonly id: string }

/**
 * Returns the document that an id names in the scope of the headers. The first part of the id may name the level of the
 * scope (`World:settings`). Without it, the document is in the narrowest scope of the headers. If the headers name no
 * project or world, the id may be the id of one and then names it. Throws a 400 if an id of the scope is missing.
 */
export const resolveDocument = (scope: ScopeIds, given: string): DocumentRef => {
  const { kind, id } = namedScope(scope, given)
  const worldId = kind === 'world' ? scope.worldId || idOfKind('world', id) : ''
  const projectId =
    kind === 'organization' ? '' : scope.projectId || (kind === 'project' ? idOfKind('project', id) : '')
  refuseIncomplete({ kind, projectId, worldId, id })
  return { kind, organizationId: scope.organizationId, projectId, worldId, id }
}

const namedScope = (scope: ScopeIds, given: string): { kind: ScopeKind; id: string } => {
  const colon = given.indexOf(':')
  const named = colon < 0 ? undefined : kinds[given.slice(0, colon)]
  if (named !== undefined) return { kind: named, id: given.slice(colon + 1) }
  if (scope.worldId !== '') return { kind: 'world', id: given }
  return { kind: scope.projectId === '' ? 'organization' : 'project', id: given }
}

const idOfKind = (kind: 'project' | 'world', id: string): string => (isId(kind, id) ? id : '')

const refuseIncomplete = ({ kind, projectId, worldId, id }: Omit<DocumentRef, 'organizationId'>): void => {
  const missing = [
    ...(kind !== 'organization' && projectId === '' ? ['x-svc-project-id'] : []),
    ...(kind === 'world' && worldId === '' ? ['x-svc-world-id'] : []),
    ...(id === '' ? ['path:/id'] : []),
  ]
  if (missing.length === 0) return
  const errors = missing.map((path) => ({ path, message: `required for a document in a scope of kind ${kind}` }))
  throw new Problem('invalid_request', 'The request does not name the scope of the document.', { errors })
}

/** Returns the scope that decides who may access a document. */
export const scopeOfDocument = (ctx: Context, { id = '' }: Readonly<Record<string, string>>): ScopeRef => {
  const { id: _, ...scope } = resolveDocument(ctx, id)
  return scope
}
