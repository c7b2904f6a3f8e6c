import { formatCount } from '#console/state/format.ts'
import { runsFilter } from '#console/state/launch/links.ts'
import { type Stage, stages, stageTexts } from '#console/state/launch/stages.ts'
import { launch } from '../../live/launch.ts'
import { hrefOf, place } from '../../live/location.ts'
import { zone } from '../pieces.tsx'
import { windowText } from './Controls.tsx'

// A stage has a word, a shape and a colour, as a phase has.
const looks: Readonly<Record<Stage, { readonly shape: string; readonly color: string }>> = {
  pending: { shape: '◌', color: 'phase-starting' },
  starting: { shape: '◐', color: 'phase-starting' },
  active: { shape: '●', color: 'phase-active' },
  error: { shape: '▲', color: 'phase-error' },
  ended: { shape: '■', color: 'phase-stopped' },
}

/** The name of a stage. */
export const StageBadge = ({ stage }: { readonly stage: Stage }) => (
  <span class={`badge ${looks[stage].color}`}>
    <span aria-hidden="true">{looks[stage].shape}</span> {stageTexts[stage].name}
  </span>
)

/** The number of runs in each stage, with links to their worlds. */
export const Funnel = () => {
  const shown = launch.value
  if (shown === undefined) return null
  const { counts, total, since } = shown
  return (
    <section aria-labelledby="launch-stages" class="launch-part">
      <h2 id="launch-stages">
        {formatCount(counts.active)} of {formatCount(total, 'run')} {counts.active === 1 ? 'is' : 'are'} active
      </h2>
      <p class="muted">
        The present runs of the worlds that match the filter, requested {windowText(since)}. Times are in {zone}.
      </p>
      <ol class="launch-stages">
        {stages.map((stage) => (
          <li key={stage} class={`launch-stage is-${stage}`}>
            <a
              href={hrefOf({
                page: 'fleet',
                filter: runsFilter(`phase:${stageTexts[stage].phase}`, since, place.value.filter),
              })}
            >
              <StageBadge stage={stage} /> <strong>{formatCount(counts[stage])}</strong>
            </a>
            <div class="launch-bar" aria-hidden="true">
              <div class={looks[stage].color} style={{ width: `${(100 * counts[stage]) / total}%` }} />
            </div>
            <p class="muted small">{stageTexts[stage].text}</p>
          </li>
        ))}
      </ol>
      <details>
        <summary>What the counts mean</summary>
        <p class="muted small">
          The operator reports what a start waits for when its server is 2 s old, and the next wait when it is 10 s old,
          so a quick start goes from Pending to Active. Deleted worlds are not counted. A count links to the worlds of
          its phase with these runs. Pending and Starting are both the phase Starting. Times so far are measured with
          the clock of your computer.
        </p>
      </details>
    </section>
  )
}
