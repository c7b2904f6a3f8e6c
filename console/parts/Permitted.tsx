import type { ComponentChildren } from 'preact'
import type { OperationId } from '#client/types.ts'
import { refusalOf } from '#console/state/rights.ts'
import type { Session } from '../live/session.ts'
import { Said } from './pieces.tsx'

/** Returns the permission that a session lacks for an operation on its organization, or undefined. */
export const refusalIn = ({ credential, organizationId }: Session, operationId: OperationId): string | undefined =>
  refusalOf(credential, operationId, { organizationId, projectId: '', worldId: '' })

/** A part of the page that needs an operation. Without its permission, nothing is requested, and the page says which one is missing. */
export const Permitted = ({
  session,
  operationId,
  what,
  children,
}: {
  readonly session: Session
  readonly operationId: OperationId
  readonly what: string
  readonly children: ComponentChildren
}) => {
  const refusal = refusalIn(session, operationId)
  return refusal === undefined ? children : <Refused what={what} refusal={refusal} />
}

/** Says which permission is missing to see a part of the console. `refusal` is the sentence of `refusalOf`. */
export const Refused = ({ what, refusal }: { readonly what: string; readonly refusal: string }) => (
  <div class="empty">
    <p>
      <strong>This sign-in cannot read {what}.</strong>
    </p>
    <p>
      <Said text={refusal} />. Ask an administrator of the organization for it, or sign in with another key.
    </p>
  </div>
)
