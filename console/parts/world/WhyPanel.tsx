import { useSignal } from '@preact/signals'
import { isButton } from '#console/state/actions.ts'
import { formatCount } from '#console/state/format.ts'
import { newestRun, writeReport } from '#console/state/report.ts'
import { fieldOfAdvice } from '#console/state/settings/fields.ts'
import { quote } from '#console/state/words.ts'
import { maxOthers } from '#shared/why/why.ts'
import { copyText } from '../../live/clipboard.ts'
import { hrefOf } from '../../live/location.ts'
import { advised } from '../../live/settings.ts'
import type { Why } from '../../live/world.ts'
import { Age, Loaded, Said } from '../pieces.tsx'
import { ActionBar } from './Actions.tsx'
import { CommandList } from './CommandList.tsx'
import type { PageState } from './page.ts'

/** The explanation of the state of a world, with what to do: the first thing on its page. */
export const WhyPanel = ({ page }: { readonly page: PageState }) => {
  const { slot, load } = page.why
  const state = slot.value.value?.state ?? 'unknown'
  return (
    <section class={`why is-${state.toLowerCase()}`} aria-labelledby="why-title">
      <h2 id="why-title" class="visually-hidden">
        Why
      </h2>
      <Loaded slot={slot.value} what="The explanation" onRetry={load}>
        {(why) => <Explanation why={why} page={page} />}
      </Loaded>
      <ActionBar page={page} advised={slot.value.value?.actions.map(({ kind }) => kind) ?? []} />
      <Report page={page} />
    </section>
  )
}

const Explanation = ({ why, page }: { readonly why: Why; readonly page: PageState }) => (
  <>
    <p class="why-sentence">
      <Said text={why.sentence} />
    </p>
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
    <Advice advice={why.actions} page={page} />
  </>
)

const Others = ({ reason, count }: { readonly reason: string; readonly count: number }) => (
  <a href={hrefOf({ projectId: '', worldId: '', tab: 'now', run: '', filter: `reason:${quote(reason)}` })}>
    {count > maxOthers ? `More than ${formatCount(maxOthers)} other worlds` : formatCount(count, 'other world')} with
    this reason
  </a>
)

const Advice = ({ advice, page }: { readonly advice: Why['actions']; readonly page: PageState }) => {
  const shown = advice.filter(({ kind }) => !isButton(kind))
  if (shown.length === 0) return null
  return (
    <ul class="actions">
      {shown.map(({ kind, field = '' }) => (
        <li key={`${kind} ${field}`}>
          {kind === 'edit' && (
            <>
              <a
                href={hrefOf({ tab: 'settings', run: '' })}
                onClick={({ ctrlKey, metaKey, shiftKey, altKey }) => {
                  // Other clicks open another tab.
                  if (!(ctrlKey || metaKey || shiftKey || altKey)) advised.value = { worldId: page.worldId, field }
                }}
              >
                Edit the {fieldOfAdvice(field)?.name.toLowerCase() ?? 'settings'}
              </a>
              <CommandList
                title={`Edit the world${field === '' ? '' : `: ${field}`}`}
                kinds={['edit']}
                page={page}
                field={field}
              />
            </>
          )}
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
