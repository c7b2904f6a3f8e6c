import { formatCount } from '#console/state/format.ts'
import type { Bin } from '#console/state/launch/times.ts'
import { describeBin, describeTimes, formatSeconds } from '#console/state/launch/words.ts'
import { launch } from '../../live/launch.ts'

/** The start times of the runs that are ready: p50, p95 and a histogram, which is a table too. */
export const Times = () => {
  const shown = launch.value
  if (shown === undefined) return null
  const { ready, p50Ms, p95Ms, bins } = shown.times
  return (
    <section aria-labelledby="launch-times" class="launch-part">
      <h2 id="launch-times">Start times</h2>
      {ready > 0 && (
        <p class="launch-figures">
          <span>
            <span class="launch-key is-p50" aria-hidden="true" /> p50 <strong>{formatSeconds(p50Ms)}</strong>
          </span>
          <span>
            <span class="launch-key is-p95" aria-hidden="true" /> p95 <strong>{formatSeconds(p95Ms)}</strong>
          </span>
        </p>
      )}
      <p class="muted">{describeTimes(shown)}</p>
      {ready > 0 && (
        <>
          <Histogram bins={bins} p50Ms={p50Ms} p95Ms={p95Ms} />
          <p class="muted small">
            From the request until players can enter, in whole seconds. A server that was replaced, or not ready for a
            while, counts until it was ready again: the API has no earlier time.
          </p>
          <BinTable bins={bins} />
        </>
      )}
    </section>
  )
}

const height = 100

/** The marks of the axis, at most 5. */
const marksOf = (bins: readonly Bin[]): { readonly at: number; readonly text: string }[] => {
  const step = Math.ceil(bins.length / 5)
  return bins.flatMap(({ fromMs }, at) => (at % step === 0 ? [{ at, text: formatSeconds(fromMs) }] : []))
}

const Histogram = ({
  bins,
  p50Ms,
  p95Ms,
}: {
  readonly bins: readonly Bin[]
  readonly p50Ms: number
  readonly p95Ms: number
}) => {
  const highest = Math.max(...bins.map(({ count }) => count))
  const widthMs = bins[0]?.toMs ?? 1
  const line = (ms: number, name: string) => (
    <line class={`launch-line is-${name}`} x1={ms / widthMs} x2={ms / widthMs} y1={0} y2={height} />
  )
  return (
    <div class="launch-chart">
      <span class="launch-scale muted small">{formatCount(highest, 'run')}</span>
      <svg
        role="img"
        aria-label="Histogram of the start times. The table below has the same numbers."
        viewBox={`0 0 ${bins.length} ${height}`}
        preserveAspectRatio="none"
      >
        {bins.map((bin, index) => {
          const top = (height * bin.count) / highest
          return (
            <rect key={bin.fromMs} class="launch-column" x={index + 0.06} y={height - top} width={0.88} height={top}>
              <title>{`${describeBin(bin)}: ${formatCount(bin.count, 'run')}`}</title>
            </rect>
          )
        })}
        {line(p50Ms, 'p50')}
        {line(p95Ms, 'p95')}
      </svg>
      <div class="launch-axis muted small" aria-hidden="true">
        {marksOf(bins).map(({ at, text }) => (
          <span key={at} style={{ left: `${(100 * at) / bins.length}%` }}>
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}

const BinTable = ({ bins }: { readonly bins: readonly Bin[] }) => (
  <details>
    <summary>Start times as a table</summary>
    <table class="launch-table">
      <thead>
        <tr>
          <th scope="col">Start time</th>
          <th scope="col" class="number">
            Runs
          </th>
        </tr>
      </thead>
      <tbody>
        {bins.map((bin) => (
          <tr key={bin.fromMs}>
            <th scope="row">{describeBin(bin)}</th>
            <td class="number">{formatCount(bin.count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </details>
)
