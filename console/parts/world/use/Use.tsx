import { useLayoutEffect } from 'preact/hooks'
import type { Sample } from '#console/state/use/readings.ts'
import { describeOutcome, measures, warnOf } from '#console/state/use/words.ts'
import { Scrolled, Time } from '../../pieces.tsx'
import type { PageState } from '../page.ts'
import { UseChart } from './UseChart.tsx'
import './use.css'

/** The CPU and memory of the server since the page was opened. Nothing in a cluster without metrics, and before the first reading. */
export const Use = ({ page }: { readonly page: PageState }) => {
  const { readings, hasServer, start } = page.use
  useLayoutEffect(start, [start])
  const { samples, outcome } = readings.value
  const newest = samples.at(-1)
  if (newest === undefined && (!hasServer.value || ['none', 'absent'].includes(outcome.kind))) return null
  return (
    <section aria-labelledby="use-title">
      <h2 id="use-title">CPU and memory</h2>
      {newest !== undefined && (
        <div class="uses">
          {measures.map((measure) => (
            <UseChart key={measure.name} measure={measure} samples={samples} newest={newest} />
          ))}
        </div>
      )}
      <p role="status">
        {newest !== undefined && hasServer.value && <Warnings newest={newest} />}
        <span class="muted">{describeOutcome(readings.value, hasServer.value)}</span>
      </p>
      {newest !== undefined && <Table samples={samples} />}
    </section>
  )
}

const Warnings = ({ newest }: { readonly newest: Sample }) =>
  measures.map((measure) => {
    const warning = warnOf(measure, newest[measure.name], newest[measure.limitName] ?? 0)
    return warning !== '' && <span class="use-warning is-warning">▲ {warning} </span>
  })

/** All samples, newest first. */
const Table = ({ samples }: { readonly samples: readonly Sample[] }) => (
  <details class="use-table">
    <summary>Samples</summary>
    <Scrolled label="Table of samples">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {measures.map(({ title }) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {samples.toReversed().map((sample) => (
            <tr key={sample.atMs}>
              <th scope="row">
                <Time at={new Date(sample.atMs).toISOString()} />
              </th>
              {measures.map(({ name, format }) => (
                <td key={name} class="number">
                  {format(sample[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  </details>
)
