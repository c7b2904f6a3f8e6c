import { useState } from 'preact/hooks'
import { formatCount } from '#console/state/format.ts'
import { fleetFilter } from '#console/state/launch/links.ts'
import type { Since } from '#console/state/launch/since.ts'
import { describeNone } from '#console/state/launch/words.ts'
import { feedFailure } from '../../live/fleet.ts'
import { launch, startLaunch } from '../../live/launch.ts'
import { goTo, hrefOf, place } from '../../live/location.ts'
import { useEnd } from '../useEnd.ts'
import { Controls, windowText } from './Controls.tsx'
import { Funnel } from './Funnel.tsx'
import { Progress } from './Progress.tsx'
import { Reasons } from './Reasons.tsx'
import { Slowest } from './Slowest.tsx'
import { Times } from './Times.tsx'
import './launch.css'

/** The progress of the runs that began lately. */
export const LaunchPage = () => {
  // Before the first render, which then has the figures.
  const [stop] = useState(startLaunch)
  useEnd(stop)
  return (
    <article class="launch">
      <h1>Launch</h1>
      <Controls />
      <Content />
    </article>
  )
}

const Content = () => {
  const shown = launch.value
  if (shown === undefined) return null
  const { selected, total, waiting, since, isComplete } = shown
  if (feedFailure.value !== '' && selected === 0) {
    return (
      <p role="alert" class="notice">
        The worlds cannot be shown: {feedFailure.value}
      </p>
    )
  }
  if (!isComplete && total === 0) return <p class="muted">Loading the worlds…</p>
  return (
    <>
      {waiting > 0 && (
        <p class="notice waiting">
          <a href={hrefOf({ page: 'fleet', filter: fleetFilter('reason:StartWaits', place.value.filter) })}>
            {formatCount(waiting, 'start')}
          </a>{' '}
          {waiting === 1 ? 'waits for a limit. Its run has' : 'wait for a limit. Their runs have'} not begun, so the
          stages do not count
          {waiting === 1 ? ' it' : ' them'}.
        </p>
      )}
      {total === 0 ? <Nothing selected={selected} since={since} /> : <Figures />}
    </>
  )
}

const Nothing = ({ selected, since }: { readonly selected: number; readonly since: Since }) => (
  <p class="empty">
    {describeNone(selected, windowText(since))}{' '}
    {selected > 0 && since.value !== 'all' && (
      <button type="button" onClick={() => goTo({ since: 'all' })}>
        Show all present runs
      </button>
    )}
  </p>
)

const Figures = () => (
  <>
    <Funnel />
    <Reasons />
    <div class="launch-charts">
      <Times />
      <Progress />
    </div>
    <Slowest />
  </>
)
