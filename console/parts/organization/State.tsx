import type { StateText } from '#console/state/webhooks.ts'
import { Said, Time } from '../pieces.tsx'

/** A state in words, with its time and what it means. A bad one is marked by a shape beside its colour. */
export const State = ({
  text: { name, detail, isBad },
  since,
}: {
  readonly text: StateText
  readonly since?: string | undefined
}) => (
  <>
    {isBad ? <span class="is-warning">▲ {name}</span> : name}
    {since !== undefined && (
      <span class="muted">
        {' '}
        since <Time at={since} />
      </span>
    )}
    {detail !== '' && (
      <p class="muted small">
        <Said text={detail} />
      </p>
    )}
  </>
)
