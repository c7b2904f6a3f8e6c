import { useMemo } from 'preact/hooks'
import { formatDuration } from '#console/state/format.ts'
import { toVisible } from '#console/state/visible.ts'
import { type Fault, toFault } from '#console/state/worldLoad.ts'
import { now } from '../live/fleet.ts'
import { hrefOf } from '../live/location.ts'

/** Says what failed, what to do and what the API says about it, with the id of the request. */
export const FailureNotice = ({ error }: { readonly error: unknown }) => (
  <FaultNotice fault={useMemo(() => toFault(error), [error])} />
)

/**
 * Says why `what` could not be loaded, or something else failed, with a button that tries it again. If the API says when another attempt
 * may succeed, the time until then is counted down, and the button waits for it.
 */
export const FaultNotice = ({
  what,
  fault,
  onRetry,
}: {
  readonly what?: string
  readonly fault: Fault
  readonly onRetry?: () => void
}) => {
  const { title, remedy, detail, requestId, limit, waitSeconds } = fault
  const untilMs = useMemo(() => Date.now() + (waitSeconds ?? 0) * 1_000, [fault])
  const leftSeconds = waitSeconds === undefined ? 0 : Math.max(0, Math.ceil((untilMs - now.value) / 1_000))
  return (
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
        <button
          type="button"
          aria-disabled={leftSeconds > 0}
          onClick={() => {
            if (leftSeconds === 0) onRetry()
          }}
        >
          Retry
        </button>
      )}
      {waitSeconds !== undefined && (
        // Hidden from screen readers, which would read it out every second.
        <span aria-hidden="true" class="muted">
          {' '}
          Possible again {leftSeconds === 0 ? 'now' : `in ${formatDuration(leftSeconds * 1_000)}`}
        </span>
      )}
    </div>
  )
}
