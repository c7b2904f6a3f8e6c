import { toVisible } from '#console/state/visible.ts'
import { type Fault, toFault } from '#console/state/worldLoad.ts'
import { hrefOf } from '../live/location.ts'

/** Says what failed, what to do and what the API says about it, with the id of the request. */
export const FailureNotice = ({ error }: { readonly error: unknown }) => <FaultNotice fault={toFault(error)} />

/** Says why `what` could not be loaded, or something else failed, with a button that tries it again. */
export const FaultNotice = ({
  what,
  fault: { title, remedy, detail, requestId, limit },
  onRetry,
}: {
  readonly what?: string
  readonly fault: Fault
  readonly onRetry?: () => void
}) => (
  <div role="alert" class="notice error-state">
    <p>
      <strong>{what === undefined ? title : `${what} could not be loaded`}.</strong>{' '}
      {what !== undefined && `${title}. `}
      {remedy}
    </p>
    {detail !== '' && (
      <p>
        <bdi>{toVisible(detail)}</bdi>
      </p>
    )}
    {limit !== undefined && (
      <p>
        <a href={hrefOf({ page: 'usage', limit, projectId: '', worldId: '', tab: 'now' })}>
          Show the use of <code>{limit}</code>
        </a>
      </p>
    )}
    {requestId !== undefined && (
      <p class="muted small">
        Request <code>{toVisible(requestId)}</code>
      </p>
    )}
    {onRetry !== undefined && (
      <button type="button" onClick={onRetry}>
        Retry
      </button>
    )}
  </div>
)
