import { useSignal } from '@preact/signals'
import { actions, restoredState } from '#console/state/actions.ts'
import { describeAction, describePlan, notesOf } from '#console/state/bulk/plan.ts'
import { formatCount } from '#console/state/format.ts'
import { bulk } from '../../live/bulk.ts'
import { type Draft, isRunning, startDraft } from './opened.ts'
import { CloseButton, PlanCommands, Title, Worlds } from './parts.tsx'
import { describeEnd, isAllDone } from './words.ts'

const faultId = 'bulk-count-fault'

/** The step before the start: what the action will do, and to which worlds. A deletion wants their number typed. */
export const PlanView = ({ draft }: { readonly draft: Draft }) => {
  const { plan, rows } = draft
  const typed = useSignal('')
  const count = plan.ids.length
  const isDelete = plan.kind === 'delete'
  const isConfirmed = !isDelete || typed.value.replace(/[\s,]/g, '') === String(count)
  const isReady = isConfirmed && !isRunning.value
  const isWrong = useSignal(false)
  const previous = draft.isRepeat ? undefined : bulk.value
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        isWrong.value = !isConfirmed
        if (isReady) startDraft(draft)
      }}
    >
      <Title text={count === 0 ? `${actions[plan.kind].label} no world` : `${describeAction(plan)}?`} />
      {draft.isChanged && (
        <p role="alert" class="notice">
          The worlds have changed, so this is a new plan. Nothing was sent. Read it, then confirm it.
        </p>
      )}
      {plan.skips.length > 0 && <p>{describePlan(plan)}</p>}
      {notesOf(plan).map(({ text, ids }) => (
        <div key={text.replace(/^\S+ /, '')} class="notice">
          <Worlds summary={text} ids={ids} before={rows} organizationId={plan.organizationId} />
        </div>
      ))}
      {count > 0 && (
        <Worlds
          summary={`The ${formatCount(count, 'world')}`}
          ids={plan.ids}
          before={rows}
          organizationId={plan.organizationId}
        />
      )}
      {plan.skips.map(({ text, ids }) => (
        <Worlds
          key={text}
          summary={`Left as it is: ${text}`}
          ids={ids}
          before={rows}
          organizationId={plan.organizationId}
        />
      ))}
      {count > 0 && <PlanCommands plan={plan} />}
      {isDelete && count > 0 && (
        <>
          <p>The page Deleted restores a world until it is purged. {restoredState}</p>
          <label for="bulk-count">
            Type {formatCount(count)} to delete {formatCount(count, 'world')}
          </label>
          <input
            id="bulk-count"
            inputMode="numeric"
            autofocus
            autocomplete="off"
            value={typed.value}
            aria-invalid={isWrong.value}
            aria-describedby={faultId}
            onInput={({ currentTarget }) => {
              typed.value = currentTarget.value
              isWrong.value = false
            }}
          />
          <p id={faultId} role="alert" class="bulk-fault">
            {isWrong.value && `The number of worlds is ${formatCount(count)}. Nothing was deleted.`}
          </p>
        </>
      )}
      {isRunning.value && <p class="notice">Another action runs. It must end first.</p>}
      {count > 0 && previous?.state === 'ended' && !isAllDone(previous) && (
        <p>This replaces the result of the last action: {describeEnd(previous)}.</p>
      )}
      <div class="buttons">
        {count > 0 && (
          <button type="submit" class="primary" autofocus={plan.kind === 'start'} aria-disabled={!isReady}>
            {describeAction(plan)}
          </button>
        )}
        {/* The keyboard begins at the action that ends nothing. */}
        <CloseButton label="Cancel" hasFocus={plan.kind === 'stop' || plan.kind === 'restart'} />
      </div>
    </form>
  )
}
