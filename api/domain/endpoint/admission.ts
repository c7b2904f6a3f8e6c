import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Principal } from '#api/platform/auth/principal.ts'

/** The principal and scope of an accepted connection. A user's token is kept, so that it can be verified again. */
export type Admission = { readonly principal: Principal; readonly scope: ScopeIds; readonly token: string | undefined }

/** A pending WebSocket upgrade. */
export type Upgrade = {
  /** The fault of the protocol header, if it has one. */
  readonly fault: string | undefined
  /** Accepts the connection. Throws a problem if a connection limit is reached. */
  readonly admit: (admission: Admission) => void
}
