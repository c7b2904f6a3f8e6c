import { useSignal } from '@preact/signals'
import { isButton } from '#console/state/actions.ts'
import { formatCount } from '#console/state/format.ts'
import { newestRun, writeReport } from '#console/state/report.ts'
import { quote } from '#console/state/words.ts'
import { maxOthers } from '#shared/why/why.ts'
import { copyText } from '../../live/clipboard.ts'
import { rowOf } from '../../live/fleet.ts'
import { hrefOf } from '../../live/location.ts'
import type { Why } from '../../live/world.ts'
import { Age, Loaded, Said } from '../pieces.tsx'
import { ActionBar, Outcome } from './Actions.tsx'
import type { PageState } from './page.ts'

/**
 * The explanation of the state of a world, with what to do: the first thing on its page. If `isShort` the sentence stands alone, with the
 * rest on demand, so that the page begins with what its tab shows.
 */
export const WhyPanel = ({ page, isShort }: { readonly page: PageState; readonly isShort: boolean }) => {
  const { slot, load } = page.why
  const why = slot.value.value
  const outcome = <Outcome page={page} />
  const rest = (
    <>
      {why !== undefined && <Explanation why={why} />}
      <ActionBar page={page} why={why}>
        {!isShort && outcome}
      </ActionBar>
      <Report page={page} />
    </>
  )
  return (
    <section
      class={`why is-${why?.state.toLowerCase() ?? 'unknown'} ${isShort ? 'is-short' : ''}`}
      aria-labelledby="why-title"
    >
      <h2 id="why-title" class="visually-hidden">
        Why
      </h2>
      <Loaded slot={slot.value} what="The explanation" onRetry={load}>
        {({ sentence }) => (
          <p class="why-sentence">
            <Said text={sentence} />
          </p>
        )}
      </Loaded>
      <ClusterWait page={page} />
      {isShort ? (
        <>
          <details class="why-more">
            <summary>Actions and details</summary>
            <div>{rest}</div>
          </details>
          {outcome}
        </>
      ) : (
        rest
      )}
    </section>
  )
}

const Explanation = ({ why }: { readonly why: Why }) => (
  <>
    {/* A node may write a note to a server that is Ready. */}
    {why.reason === '' && why.cause !== '' && (
      <p class="muted">
        Note: <Said text={why.cause} />
      </p>
    )}
    <p class="why-facts muted">
      {why.since !== undefined && (
        <span>
          For <Age at={why.since} />
        </span>
      )}
      {why.reason !== '' && (
        <span>
          Reason <code>{why.reason}</code>
        </span>
      )}
      {why.others !== undefined && why.others > 0 && <Others reason={why.reason} count={why.others} />}
    </p>
    <Advice advice={why.actions} />
  </>
)

/** Says that the API cannot push the world to its cluster. No condition says so, since only the operator in the cluster writes them. */
const ClusterWait = ({ page }: { readonly page: PageState }) => {
  const message = rowOf(page.worldId)?.message ?? ''
  if (!message.startsWith('Waiting for the cluster')) return null
  return (
    <p role="status" class="notice">
      <Said text={message} />
    </p>
  )
}

const Others = ({ reason, count }: { readonly reason: string; readonly count: number }) => (
  <a href={hrefOf({ projectId: '', worldId: '', tab: 'now', run: '', filter: `reason:${quote(reason)}` })}>
    {count > maxOthers ? `More than ${formatCount(maxOthers)} other worlds` : formatCount(count, 'other world')} with
    this reason
  </a>
)

const Advice = ({ advice }: { readonly advice: Why['actions'] }) => {
  const shown = advice.filter(({ kind }) => !isButton(kind))
  if (shown.length === 0) return null
  return (
    <ul class="actions">
      {shown.map(({ kind }) => (
        <li key={kind}>
          {kind === 'readLog' && <a href={hrefOf({ tab: 'logs', run: '' })}>Read the log</a>}
          {kind === 'askOperator' && 'Ask the people who run this installation. The report below has what they need.'}
          {kind === 'wait' && 'Nothing to do: Orrery goes on by itself.'}
        </li>
      ))}
    </ul>
  )
}

/** The button that makes the report, and the report itself where the browser does not copy. */
const Report = ({ page }: { readonly page: PageState }) => {
  const outcome = useSignal('')
  const shown = useSignal('')
  const world = page.world.slot.value.value
  const make = async (): Promise<void> => {
    if (world === undefined) return
    outcome.value = 'Reading the runs and events…'
    try {
      const { signal } = new AbortController()
      const [runs, events] = await Promise.all([page.reads.runs(signal), page.reads.events(signal)])
      const sentence = page.why.slot.peek().value?.sentence
      const text = writeReport({ world, sentence, run: newestRun(runs, world.status.runId), events, nowMs: Date.now() })
      const isCopied = await copyText(text)
      shown.value = isCopied ? '' : text
      outcome.value = isCopied ? 'Copied' : 'The browser does not copy. Select the text.'
    } catch {
      outcome.value = 'The runs and events could not be loaded. Try again.'
    }
  }
  return (
    <div class="report">
      <button type="button" disabled={world === undefined} onClick={() => void make()}>
        Copy as Markdown
      </button>{' '}
      <span role="status" class="muted">
        {outcome.value}
      </span>
      {shown.value !== '' && <textarea aria-label="Report" readOnly rows={12} value={shown.value} />}
    </div>
  )
}
