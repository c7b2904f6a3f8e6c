import { chartHeight, chartWidth, pointsOf, toChart } from '#console/state/use/chart.ts'
import type { Sample } from '#console/state/use/readings.ts'
import { describeUse, type Measure } from '#console/state/use/words.ts'
import { Time } from '../../pieces.tsx'

/** The course of one measure, with its newest value in words, its limit as a line and a dashed mark at 90 % of it. */
export const UseChart = ({
  measure,
  samples,
  newest,
}: {
  readonly measure: Measure
  readonly samples: readonly Sample[]
  readonly newest: Sample
}) => {
  const limit = newest[measure.limitName] ?? 0
  const { paths, limitY, markY, fromMs, toMs } = toChart(pointsOf(samples, measure.name), limit)
  const highest = Math.max(...samples.map(({ [measure.name]: value }) => value))
  return (
    <figure class="use">
      <figcaption>
        <strong>{measure.title}</strong> {describeUse(measure, newest[measure.name], limit)}
      </figcaption>
      <svg
        role="img"
        aria-label={`${measure.title}: at most ${measure.format(highest)} in this time`}
        viewBox={`0 0 ${chartWidth} ${chartHeight}`}
        preserveAspectRatio="none"
      >
        {limitY !== undefined && <path class="use-limit" d={`M0 ${limitY}H${chartWidth}`} />}
        {markY !== undefined && <path class="use-mark" d={`M0 ${markY}H${chartWidth}`} />}
        {paths.map((path) => (
          <path key={path} class={path.endsWith('h0') ? 'use-line is-dot' : 'use-line'} d={path} />
        ))}
      </svg>
      <p class="use-times muted small">
        <Time at={new Date(fromMs).toISOString()} isTimeAlone />
        {limit > 0 && <span>— limit, ┄ 90 % of it</span>}
        <Time at={new Date(toMs).toISOString()} isTimeAlone />
      </p>
    </figure>
  )
}
