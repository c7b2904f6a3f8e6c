import { formatCount } from '#console/state/format.ts'
import type { Point } from '#console/state/launch/progress.ts'
import { formatSeconds } from '#console/state/launch/words.ts'
import { launch } from '../../live/launch.ts'
import { writeTime } from '../pieces.tsx'

/** The numbers of requested and of ready runs over time, as lines and as a table. */
export const Progress = () => {
  const { progress: points = [], times } = launch.value ?? {}
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined) return null
  const [start, end] = [first, last].map(({ atMs }) => new Date(atMs).toISOString())
  return (
    <section aria-labelledby="launch-progress" class="launch-part">
      <h2 id="launch-progress">Progress</h2>
      <p class="launch-figures">
        <span>
          <span class="launch-key is-requested" aria-hidden="true" /> requested{' '}
          <strong>{formatCount(last.requested)}</strong>
        </span>
        <span>
          <span class="launch-key is-ready" aria-hidden="true" /> ready <strong>{formatCount(last.ready)}</strong>
        </span>
      </p>
      <p class="muted">
        Over {formatSeconds(last.atMs - first.atMs)}. Ready are those that are ready now
        {times !== undefined &&
          times.again > 0 &&
          `, without ${formatCount(times.again)} that became ready again later`}
        .
      </p>
      <div class="launch-chart">
        <span class="launch-scale muted small">{formatCount(last.requested, 'run')}</span>
        <svg
          role="img"
          aria-label="Requested and ready runs over time. The table below has the same numbers."
          viewBox={`0 0 ${points.length - 1} ${last.requested}`}
          preserveAspectRatio="none"
        >
          <polyline class="launch-line is-requested" points={lineOf(points, last.requested, 'requested')} />
          <polyline class="launch-line is-ready" points={lineOf(points, last.requested, 'ready')} />
        </svg>
        <div class="launch-ends muted small" aria-hidden="true">
          <span>{writeTime(start ?? '')}</span>
          <span>{writeTime(end ?? '')}</span>
        </div>
      </div>
      <details>
        <summary>Progress as a table</summary>
        <table class="launch-table">
          <thead>
            <tr>
              <th scope="col">Until</th>
              <th scope="col" class="number">
                Requested
              </th>
              <th scope="col" class="number">
                Ready
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map(({ atMs, requested, ready }, index) => (
              <tr key={index}>
                <th scope="row">{writeTime(new Date(atMs).toISOString())}</th>
                <td class="number">{formatCount(requested)}</td>
                <td class="number">{formatCount(ready)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  )
}

const lineOf = (points: readonly Point[], highest: number, name: 'requested' | 'ready'): string =>
  points.map((point, index) => `${index},${highest - point[name]}`).join(' ')
