import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { commandsForBulk } from '#console/state/bulk/commands.ts'
import type { Plan } from '#console/state/bulk/plan.ts'
import { formatCount } from '#console/state/format.ts'
import type { Row } from '#console/state/row.ts'
import { isLoaded, rows } from '../../live/fleet.ts'
import { hrefOf } from '../../live/location.ts'
import { session } from '../../live/session.ts'
import { CommandTexts } from '../CommandTexts.tsx'
import { PhaseBadge } from '../PhaseBadge.tsx'
import { Said } from '../pieces.tsx'

/** The id of the title of the dialog. */
export const titleId = 'bulk-title'

/** The title of a step of the dialog. It takes the focus of an element that is gone, so that a screen reader reads it. */
export const Title = ({ text }: { readonly text: string }) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [])
  return (
    <h2 ref={heading} id={titleId} tabIndex={-1}>
      {text}
    </h2>
  )
}

/** A button that closes the dialog. */
export const CloseButton = ({ label, hasFocus }: { readonly label: string; readonly hasFocus?: boolean }) => (
  <button type="button" autofocus={hasFocus} onClick={({ currentTarget }) => currentTarget.closest('dialog')?.close()}>
    {label}
  </button>
)

type WorldsProps = {
  readonly summary: string
  readonly ids: readonly string[]
  readonly organizationId: string
  /** The worlds when the plan was made, for those that the feed does not show. */
  readonly before: ReadonlyMap<string, Row> | undefined
}

/** A number of worlds, with their list on demand. */
export const Worlds = ({ summary, ...list }: WorldsProps) => {
  const isOpen = useSignal(false)
  return (
    <details
      class="bulk-worlds"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open
      }}
    >
      <summary>{summary}</summary>
      {isOpen.value && <WorldList {...list} />}
    </details>
  )
}

const pageSize = 100

const WorldList = ({ ids, ...more }: Omit<WorldsProps, 'summary'>) => {
  const count = useSignal(pageSize)
  const left = ids.length - count.value
  return (
    <>
      <ul>
        {ids.slice(0, count.value).map((id) => (
          <li key={id}>
            <World id={id} {...more} />
          </li>
        ))}
      </ul>
      {left > 0 && (
        <button
          type="button"
          onClick={() => {
            count.value += pageSize
          }}
        >
          Show {formatCount(Math.min(left, pageSize))} more of {formatCount(left)}
        </button>
      )}
    </>
  )
}

const World = ({ id, organizationId, before }: Omit<WorldsProps, 'summary' | 'ids'> & { readonly id: string }) => {
  const present = useComputed(() => rows.value.get(id)).value
  const row = present ?? before?.get(id)
  // The page may show another organization meanwhile.
  const isDeleted = present === undefined && isLoaded.value && session.value?.organizationId === organizationId
  const name = row === undefined ? <code>{id}</code> : <Said text={row.name} />
  if (isDeleted || row === undefined)
    return (
      <>
        {name} {isDeleted && '(deleted)'}
      </>
    )
  const href = hrefOf({ organizationId, projectId: row.projectId, worldId: id, page: 'fleet', tab: 'now', run: '' })
  return (
    <>
      <a href={href}>{name}</a> {present !== undefined && <PhaseBadge phase={present.phase} />}
    </>
  )
}

/** A plan as commands to copy, without a key. */
export const PlanCommands = ({ plan }: { readonly plan: Plan }) => (
  <CommandTexts
    title="The same as commands"
    commands={Object.entries(commandsForBulk(plan, session.value?.projectId ?? '')).map(([language, text]) => ({
      title: `With ${language}`,
      name: `the command for ${language}`,
      text,
    }))}
  />
)
