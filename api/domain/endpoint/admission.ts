import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Principal } from '#api/platform/auth/principal.ts'

/** Who connects, and in which scope. A user's token is kept, so that it can be verified again. */
export type Admission = { readonly principal: Principal; readonly scope: ScopeIds; readonly token: string | undefined }

/** What an upgrade brings to its route: what is wrong with its protocol header, and who takes it when it is admitted. */
export type Upgrade = {
  readonly fault: string | undefined
  /** Takes a place; throws a problem where there is none. */
  readonly admit: (admission: Admission) => void
}
