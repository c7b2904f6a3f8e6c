import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DeletedWorld } from '#client/operations.ts'
import { restoredState } from '#console/state/actions.ts'
import { describePurge, describeShown, maxShown, selectDeleted } from '#console/state/deleted.ts'
import { refusalOf } from '#console/state/rights.ts'
import { toVisible } from '#console/state/visible.ts'
import { now } from '../../live/fleet.ts'
import { goTo, hrefOf, place } from '../../live/location.ts'
import { names } from '../../live/names.ts'
import { type Items, readAll } from '../../live/readAll.ts'
import { keyOf, type Restores, restoresIn } from '../../live/restores.ts'
import type { Session } from '../../live/session.ts'
import { FailureNotice } from '../FailureNotice.tsx'
import { Refused } from '../Permitted.tsx'
import { Loaded, Said, Scrolled, Time } from '../pieces.tsx'
import { LongNote } from './LongNote.tsx'
import { useList } from './useList.ts'
import '../audit/records.css'

/** The deleted worlds of a project, until they are erased, with a button that restores each. */
export const Deleted = ({ session }: { readonly session: Session }) => {
  const { slot, load } = useList(async (signal) => {
    const { projects } = names.peek()
    if (projects.length > 0) return { items: projects, hasMore: false, isLong: false }
    return readAll(session.client.pages('listProjects', { signal }))
  })
  return (
    <>
      <Loaded slot={slot.value} what="The projects" onRetry={load}>
        {({ items }) => <Choice session={session} projects={items} />}
      </Loaded>
      <p class="muted small">
        A deleted project comes back with its worlds:{' '}
        <code class="id">POST /api/organizations/projects/&lt;projectId&gt;/restore/</code>.{' '}
        <a href={hrefOf({ page: 'audit', projectId: '', action: 'deleteProject' })}>
          The audit says which were deleted.
        </a>
      </p>
    </>
  )
}

type Projects = readonly { readonly projectId: string; readonly name: string }[]

const Choice = ({ session, projects }: { readonly session: Session; readonly projects: Projects }) => {
  const projectId = place.value.projectId || session.projectId || (projects[0]?.projectId ?? '')
  if (projectId === '') return <p class="empty">There is no project here that this sign-in can read.</p>
  return (
    <>
      <p class="search">
        <label for="deleted-project">Project</label>
        <select
          id="deleted-project"
          value={projectId}
          onChange={({ currentTarget }) => goTo({ projectId: currentTarget.value })}
        >
          {projects.every((each) => each.projectId !== projectId) && <option value={projectId}>{projectId}</option>}
          {projects.map((each) => (
            <option key={each.projectId} value={each.projectId}>
              {toVisible(each.name)}
            </option>
          ))}
        </select>
      </p>
      <Project key={projectId} session={session} projectId={projectId} />
    </>
  )
}

type ProjectProps = { readonly session: Session; readonly projectId: string }

const Project = ({ session, projectId }: ProjectProps) => {
  const { organizationId, credential } = session
  const refusal = refusalOf(credential, 'listDeletedWorlds', { organizationId, projectId, worldId: '' })
  if (refusal !== undefined) return <Refused what="the deleted worlds of this project" refusal={refusal} />
  return <Worlds session={session} projectId={projectId} />
}

const Worlds = ({ session, projectId }: ProjectProps) => {
  const [restores] = useState(() => restoresIn(session, projectId))
  const { slot, load } = useList(
    (signal) => readAll(session.inProject(projectId).pages('listDeletedWorlds', { signal })),
    restores.version,
  )
  const { organizationId, credential } = session
  const refusal = refusalOf(credential, 'restoreWorld', { organizationId, projectId, worldId: '' })
  return (
    <>
      <p id="restored">
        A deleted world can be restored until it is erased. {refusal === undefined ? restoredState : `${refusal}.`}
      </p>
      <Outcomes restores={restores} projectId={projectId} />
      <Loaded slot={slot.value} what="The deleted worlds" onRetry={load}>
        {(list) =>
          list.items.length === 0 ? (
            <p class="empty">No world of this project is deleted. Worlds that were erased cannot be restored.</p>
          ) : (
            <>
              <Table list={list} restores={restores} isAllowed={refusal === undefined} />
              <LongNote list={list} onRead={load} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

const outcomesId = 'restore-outcomes'

/** The outcomes of the restores, with a link to each world that is back. */
const Outcomes = ({ restores, projectId }: { readonly restores: Restores; readonly projectId: string }) => {
  const all = [...restores.all.value]
  return (
    <>
      {/* The focus comes here when the button that had it goes away. */}
      <div id={outcomesId} class="outcomes" role="status" tabIndex={-1}>
        {all.map(([key, { worldId, name, state }]) => (
          <p key={key}>
            {state === 'restored' && (
              <>
                <a href={hrefOf({ projectId, worldId, tab: 'now' })}>
                  <Said text={name} />
                </a>{' '}
                is restored.
              </>
            )}
            {state === 'pending' && (
              <>
                Restoring <Said text={name} />…
              </>
            )}
            {state === 'waiting' && (
              <>
                Restoring <Said text={name} /> as soon as the cluster has removed it… Other pages of the console do not
                end this.
              </>
            )}
          </p>
        ))}
      </div>
      {all.map(
        ([key, restore]) =>
          restore.state === 'failed' && (
            <section key={key} aria-label={`The restore of ${toVisible(restore.name)} failed`}>
              <p>
                <Said text={restore.name} /> is not restored.
              </p>
              <FailureNotice error={restore.error} />
            </section>
          ),
      )}
    </>
  )
}

const Table = ({
  list: { items, hasMore },
  restores,
  isAllowed,
}: {
  readonly list: Items<DeletedWorld>
  readonly restores: Restores
  readonly isAllowed: boolean
}) => {
  const text = useSignal('')
  const selected = selectDeleted(items, text.value)
  return (
    <>
      <search class="search">
        <label for="deleted-name">Name or id</label>
        <input
          id="deleted-name"
          type="search"
          value={text.value}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
          }}
        />
        <span role="status" class="muted">
          {describeShown(selected.length, items.length, { hasMore })}
        </span>
      </search>
      <Scrolled label="Table of deleted worlds">
        <table>
          <thead>
            <tr>
              <th scope="col">World</th>
              <th scope="col">Restore</th>
              <th scope="col">Deleted</th>
              <th scope="col">Erased</th>
            </tr>
          </thead>
          <tbody>
            {selected.slice(0, maxShown).map((world) => (
              <Row key={world.documentId} world={world} restores={restores} isAllowed={isAllowed} />
            ))}
          </tbody>
        </table>
      </Scrolled>
    </>
  )
}

const Row = ({
  world,
  restores,
  isAllowed,
}: {
  readonly world: DeletedWorld
  readonly restores: Restores
  readonly isAllowed: boolean
}) => {
  const { documentId, name, deletedAt, purgeAt, isRestorable } = world
  const state = restores.all.value.get(keyOf(world))?.state
  const isBusy = state === 'pending' || state === 'waiting'
  const isDisabled = !isAllowed || isBusy || state === 'restored'
  const button = useRef<HTMLButtonElement>(null)
  // Other effects end after the button is removed.
  useLayoutEffect(
    () => () => {
      if (button.current === document.activeElement) document.getElementById(outcomesId)?.focus()
    },
    [],
  )
  return (
    <tr>
      <th scope="row" class="wide">
        <Said text={name} />
        <code class="id under">{documentId}</code>
        {!isRestorable && (
          <span class="muted small under">The cluster still removes it. A restore waits for that.</span>
        )}
      </th>
      <td>
        <button
          ref={button}
          type="button"
          aria-label={`Restore ${toVisible(name)}`}
          aria-describedby="restored"
          aria-disabled={isDisabled}
          aria-busy={isBusy}
          onClick={() => {
            if (!isDisabled) restores.run(world)
          }}
        >
          Restore
        </button>
      </td>
      <td>
        <Time at={deletedAt} />
      </td>
      <td>
        <time dateTime={purgeAt} title={purgeAt}>
          {describePurge(purgeAt, now.value)}
        </time>
      </td>
    </tr>
  )
}
