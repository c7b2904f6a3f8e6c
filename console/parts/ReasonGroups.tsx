import type { ComponentChildren } from 'preact'
import { formatAge, formatCount } from '#console/state/format.ts'
import type { ReasonGroup } from '#console/state/groups.ts'
import { toVisible } from '#console/state/visible.ts'
import { now } from '../live/fleet.ts'

/** The first reasons why worlds need attention or wait, each in the element that `wrap` returns. `noun` is what has a reason. */
export const ReasonGroups = ({
  label,
  noun,
  groups,
  max,
  wrap,
}: {
  readonly label: string
  readonly noun: string
  readonly groups: readonly ReasonGroup[]
  readonly max: number
  readonly wrap: (reason: string, look: string, text: ComponentChildren) => ComponentChildren
}) => {
  if (groups.length === 0) return null
  return (
    <section aria-label={label} class="reasons">
      {groups
        .slice(0, max)
        .map((group) =>
          wrap(group.reason, `reason ${group.isTemporary ? 'is-temporary' : ''}`, <Text group={group} noun={noun} />),
        )}
      {groups.length > max && <p class="muted small">{groups.length - max} more reasons</p>}
    </section>
  )
}

const Text = ({ group, noun }: { readonly group: ReasonGroup; readonly noun: string }) => {
  const { reason, count, sinceMs, message, isTemporary } = group
  const waits = isTemporary ? ` ${count === 1 ? 'waits' : 'wait'}` : ''
  return (
    <>
      <span class="reason-head">
        <strong>
          {formatCount(count, noun)}
          {waits}: {toVisible(reason)}
        </strong>
        {sinceMs > 0 && <span class="muted"> for {formatAge(now.value - sinceMs)}</span>}
      </span>
      <span class="reason-text muted">{toVisible(message)}</span>
    </>
  )
}
