import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { formatAge } from '#console/state/format.ts'
import { createTimes } from '#console/state/times.ts'
import { toVisible } from '#console/state/visible.ts'
import type { Slot } from '#console/state/worldLoad.ts'
import { copyText } from '../live/clipboard.ts'
import { now } from '../live/fleet.ts'
import { FaultNotice } from './FailureNotice.tsx'

/** A text that a tenant may have written. It does not change the direction of the text around it. */
export const Said = ({ text }: { readonly text: string }) => <bdi>{toVisible(text)}</bdi>

/** The time since an instant, which grows by itself. */
export const Age = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={at}>
    {formatAge(now.value - Date.parse(at))}
  </time>
)

const times = createTimes()
/** The zone of the browser, in which all times are shown. */
export const { zone } = times

/** Says the zone of the times of a page. */
export const ZoneNote = () => <p class="muted small">Times are in {zone}.</p>

/** Returns a date and time in the zone of the browser, with the year unless it is the present one. */
// The clock is only peeked at, so that a table of times is not drawn again each second.
export const writeTime = (at: string): string => times.write(at, now.peek())

/** A time in the zone of the browser, with its date unless `isTimeAlone`. A dash if there is none. */
export const Time = ({
  at,
  isTimeAlone = false,
}: {
  readonly at: string | undefined
  readonly isTimeAlone?: boolean
}) =>
  at === undefined ? (
    <span class="muted">–</span>
  ) : (
    <time dateTime={at} title={at}>
      {isTimeAlone ? times.writeTimeAlone(at) : writeTime(at)}
    </time>
  )

/** A button that copies a text and says whether it worked. `name` says what is copied. */
export const CopyButton = ({ text, name }: { readonly text: string; readonly name: string }) => {
  const outcome = useSignal('')
  return (
    <>
      <button
        type="button"
        class="copy"
        aria-label={`Copy ${name}`}
        onClick={async () => {
          outcome.value = (await copyText(text)) ? 'Copied' : 'Not copied: select the text'
        }}
        onBlur={() => {
          outcome.value = ''
        }}
      >
        Copy
      </button>
      <span role="status" class="muted small">
        {outcome.value}
      </span>
    </>
  )
}

/** A loaded part of the page: its value, and beside it the fault of a later load. */
export const Loaded = <T,>({
  slot,
  what,
  onRetry,
  children,
}: {
  readonly slot: Slot<T>
  readonly what: string
  readonly onRetry: () => void
  readonly children: (value: T) => ComponentChildren
}) => (
  <>
    {slot.fault !== undefined && <FaultNotice what={what} fault={slot.fault} onRetry={onRetry} />}
    {slot.value !== undefined && children(slot.value)}
    {slot.value === undefined && slot.fault === undefined && <p class="muted">Loading…</p>}
  </>
)

/** A table that scrolls by itself where the page is narrow. */
export const Scrolled = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable by keyboard.
  <section class="scrolled" aria-label={label} tabIndex={0}>
    {children}
  </section>
)
