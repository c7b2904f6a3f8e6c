// Elements of a table cannot be positioned one by one, as a virtual list needs, and rows of a table take no focus.
// biome-ignore-all lint/a11y/useSemanticElements: see above.
// biome-ignore-all lint/a11y/useFocusableInteractive: see above.
import { computed, signal, useComputed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { isTemporary } from '#console/state/attention.ts'
import { parseColumns } from '#console/state/columns.ts'
import { formatAge, formatCount } from '#console/state/format.ts'
import type { Place } from '#console/state/route.ts'
import type { Row } from '#console/state/row.ts'
import { type Column, columns, formatSort, labelsOf, placeOf, playersOf, unknownPlayers } from '#console/state/sort.ts'
import { toVisible } from '#console/state/visible.ts'
import { now } from '../live/fleet.ts'
import { goTo, hrefOf, place } from '../live/location.ts'
import { hold, order, scoped, sort } from '../live/order.ts'
import { SelectAll, SelectWorld } from './bulk/Select.tsx'
import { PhaseBadge } from './PhaseBadge.tsx'
import { useVirtual } from './virtual.ts'

const narrow = matchMedia('(max-width: 48rem)')
const isNarrow = signal(narrow.matches)
narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches
})

const columnNames = computed(() => place.value.columns)
const shownColumns = computed(() => {
  const names = parseColumns(columnNames.value)
  return columns.filter(({ name }) => names.includes(name))
})
/** The width of each column, as a track of a grid. */
const tracks: Record<Column, string> = {
  name: 'minmax(8rem, 2.2fr)',
  id: '17rem',
  phase: '6.5rem',
  reason: 'minmax(7rem, 1.5fr)',
  message: 'minmax(12rem, 3fr)',
  profile: '7rem',
  place: 'minmax(12rem, 1.2fr)',
  build: 'minmax(7rem, 1fr)',
  map: 'minmax(4rem, 1fr)',
  players: 'minmax(5.5rem, 1.3fr)',
  restarts: '5rem',
  address: 'minmax(7rem, 1.4fr)',
  capacity: '5rem',
  age: '4rem',
  labels: 'minmax(9rem, 2fr)',
}

/** The position of the table when another page replaced it, and the fleet that it belongs to. */
let left = { fleet: '', pixels: 0 }
const fleetOf = ({ organizationId, projectId, filter, sort }: Place): string =>
  JSON.stringify([organizationId, projectId, filter, sort])

/** The worlds that match the filter. Rows keep their place while the pointer or the focus is on one. */
export const WorldTable = () => {
  const { ids } = order.value
  const rowPixels = isNarrow.value ? 76 : 38
  const startPixels = left.fleet === fleetOf(place.value) ? left.pixels : 0
  const { container, items, totalPixels, isScrolled } = useVirtual({ count: ids.length, rowPixels, startPixels })
  const columnTracks = ['1.5rem', ...shownColumns.value.map(({ name }) => tracks[name])].join(' ')
  return (
    <div
      role="table"
      aria-label="Worlds"
      aria-rowcount={ids.length + 1}
      class="worlds"
      style={{ '--columns': columnTracks }}
    >
      <div role="row" aria-rowindex={1} class={`world-row head ${isScrolled ? 'is-scrolled' : ''}`}>
        <SelectAll />
        {shownColumns.value.map((column) => (
          <ColumnHeader key={column.name} {...column} />
        ))}
      </div>
      <div
        ref={container}
        role="rowgroup"
        class="world-rows"
        onScroll={({ currentTarget }) => {
          left = { fleet: fleetOf(place.value), pixels: currentTarget.scrollTop }
        }}
        onPointerEnter={({ pointerType }) => hold(pointerType === 'mouse')}
        onPointerLeave={({ currentTarget }) => hold(currentTarget.contains(document.activeElement))}
        onFocusIn={() => hold(true)}
        onFocusOut={({ currentTarget }) => hold(currentTarget.matches(':hover'))}
      >
        <div role="presentation" class="world-space" style={{ height: `${totalPixels}px` }}>
          {items.map(({ index, start }) => {
            const id = ids[index] ?? ''
            return <WorldRow key={id} id={id} index={index} top={start} />
          })}
        </div>
      </div>
    </div>
  )
}

const ColumnHeader = ({ name, label, align }: (typeof columns)[number]) => {
  const { column, isDescending } = sort.value
  const isSorted = column === name
  // The third click returns to the default order.
  const next = isSorted && isDescending ? '' : formatSort({ column: name, isDescending: isSorted })
  const change = (): void => goTo({ sort: next }, { isReplaced: true })
  return (
    <div
      role="columnheader"
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : 'none'}
      class={`cell cell-${name} is-${align}`}
    >
      <button type="button" onClick={change}>
        {label}
        {isSorted && <span aria-hidden="true">{isDescending ? ' ↓' : ' ↑'}</span>}
      </button>
    </div>
  )
}

type RowProps = { readonly id: string; readonly index: number; readonly top: number }

const WorldRow = ({ id, index, top }: RowProps) => {
  // The component draws again only when this world changes.
  const row = useComputed(() => scoped.value.get(id))
  return (
    <div role="row" aria-rowindex={index + 2} class="world-row" style={{ transform: `translateY(${top}px)` }}>
      {row.value === undefined ? <div role="cell">This world was deleted.</div> : <Cells row={row.value} />}
    </div>
  )
}

const Cells = ({ row }: { readonly row: Row }) => (
  <>
    <SelectWorld row={row} />
    {shownColumns.value.map(({ name, align }) => (
      <div role="cell" key={name} class={`cell cell-${name} is-${align}`}>
        {cells[name](row)}
      </div>
    ))}
  </>
)

const text = (value: string): ComponentChildren => {
  const visible = toVisible(value)
  return <span title={visible}>{visible}</span>
}

const Age = ({ sinceMs }: { readonly sinceMs: number }) => <>{sinceMs > 0 && formatAge(now.value - sinceMs)}</>

const Players = ({ text }: { readonly text: string }) => {
  const isUnknown = text === unknownPlayers
  return <span title={isUnknown ? 'The server does not report players, or has had none yet.' : text}>{text}</span>
}

const cells: Record<Column, (row: Row) => ComponentChildren> = {
  name: ({ id, projectId, name }) => (
    <a href={hrefOf({ projectId, worldId: id })} title={toVisible(name)}>
      {toVisible(name)}
    </a>
  ),
  id: ({ id }) => <code title={id}>{id}</code>,
  phase: ({ phase }) => <PhaseBadge phase={phase} />,
  reason: ({ reason, message }) => (
    <span class={isTemporary(reason) ? 'is-temporary' : 'is-serious'} title={toVisible(message)}>
      {toVisible(reason)}
    </span>
  ),
  message: ({ message }) => text(message),
  profile: ({ profile }) => profile,
  place: placeOf,
  build: ({ build }) => text(build),
  map: ({ mapName }) => text(mapName),
  players: (row) => <Players text={playersOf(row)} />,
  restarts: ({ startedAtMs, restarts }) => startedAtMs > 0 && formatCount(restarts),
  address: ({ address }) => text(address),
  capacity: ({ capacity }) => formatCount(capacity),
  age: ({ createdAtMs }) => <Age sinceMs={createdAtMs} />,
  labels: (row) => text(labelsOf(row).join(' ')),
}
