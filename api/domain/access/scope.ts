/** The ids of a scope and of the scopes above it. An id that the scope does not have is ''. */
export type ScopeIds = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** A level of the permission tree. */
export type ScopeKind = 'organization' | 'project' | 'world'

/** A scope of the permission tree. */
export type ScopeRef = { readonly kind: ScopeKind } & ScopeIds

/** The request headers that name a scope. */
export const organizationHeader = 'x-svc-organization-id'
export const projectHeader = 'x-svc-project-id'
export const worldHeader = 'x-svc-world-id'

/** The header of a realtime handshake with a ticket in place of a credential. */
export const ticketHeader = 'x-realtime-ticket'
