import { computed, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { phases } from '#console/state/attention.ts'
import { parseColumns, toggleColumn } from '#console/state/columns.ts'
import { isOnly, removeTerm, termsOf, toggleOnly, toggleTerm } from '#console/state/filter.ts'
import { formatCount } from '#console/state/format.ts'
import { groupByReason } from '#console/state/groups.ts'
import { explainNoMatch } from '#console/state/noMatch.ts'
import { describeWaiting } from '#console/state/order.ts'
import { describeSelection } from '#console/state/selection.ts'
import { columns } from '#console/state/sort.ts'
import { toVisible } from '#console/state/visible.ts'
import { feedFailure, isLoaded } from '../live/fleet.ts'
import { goTo, place } from '../live/location.ts'
import { names } from '../live/names.ts'
import { filter, order, scoped, sortAgain, startOrder } from '../live/order.ts'
import { selection } from '../live/selection.ts'
import { session } from '../live/session.ts'
import { SelectionBar } from './bulk/SelectionBar.tsx'
import { PhaseBadge } from './PhaseBadge.tsx'
import { ReasonGroups } from './ReasonGroups.tsx'
import { useEnd } from './useEnd.ts'
import { WorldTable } from './WorldTable.tsx'

const groups = computed(() => groupByReason(scoped.value.values()))

const setFilter = (text: string): void => goTo({ filter: text }, { isReplaced: true })
const terms = computed(() => termsOf(place.value.filter))
const isPhaseOn = (phase: string): boolean =>
  terms.value.some((term) => !term.isNegated && term.key === 'phase' && term.values.includes(phase))

/** The worlds of an organization or a project: what needs attention, the counts, and the table. */
export const Fleet = () => {
  // Before the first render, which then has the rows.
  const [stopOrder] = useState(startOrder)
  useEnd(stopOrder)
  return (
    <div class="fleet">
      <h1 class="visually-hidden">Worlds</h1>
      <Reasons />
      <Phases />
      <Search />
      <SelectionBar />
      <Content />
    </div>
  )
}

/** One button for each reason why worlds need attention or wait. It shows all of them, whatever the filter was. */
const Reasons = () => (
  <ReasonGroups
    label="Reasons"
    noun="world"
    groups={groups.value}
    max={6}
    wrap={(reason, look, text) => (
      <button
        type="button"
        key={reason}
        class={look}
        aria-pressed={isOnly(place.value.filter, 'reason', reason)}
        onClick={() => setFilter(toggleOnly(place.value.filter, 'reason', reason))}
      >
        {text}
      </button>
    )}
  />
)

const Phases = () => (
  <section aria-label="Worlds by phase" class="phases">
    {phases.map((phase) => (
      <button
        type="button"
        key={phase}
        class="phase-count"
        aria-pressed={isPhaseOn(phase)}
        onClick={() => setFilter(toggleTerm(place.value.filter, 'phase', phase))}
      >
        <PhaseBadge phase={phase} /> <strong>{formatCount(order.value.phases[phase])}</strong>
      </button>
    ))}
  </section>
)

const shownCount = (): string => `${formatCount(order.value.ids.length)} of ${formatCount(scoped.value.size)}`

/** The time after the last key until the count is read out. Changes of worlds are not. */
const announceMs = 1_000
const announced = signal('')
let announcing: ReturnType<typeof setTimeout> | undefined
const announce = (): void => {
  clearTimeout(announcing)
  announcing = setTimeout(() => {
    const count = selection.value.length
    announced.value = `${shownCount()} worlds${count === 0 ? '' : `, ${describeSelection(count)}`}`
  }, announceMs)
}

const Search = () => {
  const { waiting } = order.value
  const { faults } = filter.value
  return (
    <search class="search">
      <ProjectChoice />
      <label for="filter">Filter</label>
      <input
        id="filter"
        type="search"
        value={place.value.filter}
        placeholder="Name, id, label, map, reason… or phase:Error"
        spellcheck={false}
        autocomplete="off"
        aria-describedby="filter-result"
        onInput={({ currentTarget }) => {
          setFilter(currentTarget.value)
          announce()
        }}
        onKeyDown={({ key }) => {
          if (key === 'Enter') document.querySelector<HTMLElement>('.world-rows a')?.focus()
        }}
      />
      <span id="filter-result" class="muted">
        {shownCount()}
        {!isLoaded.value && ', loading'}
      </span>
      <span role="status" class="visually-hidden">
        {announced.value}
      </span>
      {waiting > 0 && (
        <button type="button" class="waiting" onClick={sortAgain}>
          {describeWaiting(order.value)}
        </button>
      )}
      <Columns />
      <Chips />
      {faults.map(({ message }, index) => (
        <p key={index} class="notice">
          {toVisible(message)}
        </p>
      ))}
    </search>
  )
}

const Columns = () => {
  const shown = parseColumns(place.value.columns)
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const closeOutside = ({ target }: Event): void => {
      if (menu.current?.open && target instanceof Node && !menu.current.contains(target)) menu.current.open = false
    }
    document.addEventListener('pointerdown', closeOutside)
    document.addEventListener('focusin', closeOutside)
    return () => {
      document.removeEventListener('pointerdown', closeOutside)
      document.removeEventListener('focusin', closeOutside)
    }
  }, [])
  return (
    <details
      ref={menu}
      class="columns"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return
        // Elsewhere the key clears the selection.
        event.stopPropagation()
        event.currentTarget.open = false
        event.currentTarget.querySelector('summary')?.focus()
      }}
    >
      <summary>Columns</summary>
      <fieldset>
        <legend class="visually-hidden">Columns of the table</legend>
        {columns
          .filter(({ name }) => name !== 'name')
          .map(({ name, label }) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={shown.includes(name)}
                onChange={() => goTo({ columns: toggleColumn(place.value.columns, name) }, { isReplaced: true })}
              />{' '}
              {label}
            </label>
          ))}
      </fieldset>
    </details>
  )
}

/** The terms of the filter, each with a button that removes it. */
const Chips = () => {
  if (terms.value.length === 0) return null
  return (
    <ul class="chips" aria-label="Terms of the filter">
      {terms.value.map(({ text }, index) => (
        <li key={`${index} ${text}`}>
          <button
            type="button"
            aria-label={`Remove ${toVisible(text)}`}
            onClick={() => setFilter(removeTerm(place.value.filter, index))}
          >
            {toVisible(text)} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  )
}

/** Absent for a credential with one project. */
const ProjectChoice = () => {
  const { projects } = names.value
  const limitedTo = session.value?.projectId ?? ''
  const projectId = place.value.projectId || limitedTo
  if (projects.length < 2 && place.value.projectId === '') return null
  return (
    <>
      <label for="project">Project</label>
      <select id="project" value={projectId} onChange={({ currentTarget }) => goTo({ projectId: currentTarget.value })}>
        {limitedTo === '' && <option value="">All projects</option>}
        {projectId !== '' && projects.every((each) => each.projectId !== projectId) && (
          <option value={projectId}>{projectId}</option>
        )}
        {projects.map((each) => (
          <option key={each.projectId} value={each.projectId}>
            {toVisible(each.name)}
          </option>
        ))}
      </select>
    </>
  )
}

const Content = () => {
  if (feedFailure.value !== '' && scoped.value.size === 0) {
    return (
      <p role="alert" class="notice">
        The worlds cannot be shown: {feedFailure.value}
      </p>
    )
  }
  if (!isLoaded.value && scoped.value.size === 0) return <p class="muted">Loading the worlds…</p>
  if (scoped.value.size === 0) {
    return (
      <p class="empty">
        There is no world here that this key can read. POST /api/worlds/ creates one, or `kubectl apply` a World.
      </p>
    )
  }
  if (order.value.ids.length === 0) {
    return (
      <div class="empty">
        <p>No world matches the filter.</p>
        {explainNoMatch(place.value.filter, [...scoped.value.values()]).map((reason) => (
          <p key={reason}>{toVisible(reason)}</p>
        ))}
        <button type="button" onClick={() => setFilter('')}>
          Show all
        </button>
      </div>
    )
  }
  return <WorldTable />
}
