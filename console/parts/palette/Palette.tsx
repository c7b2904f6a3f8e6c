import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { toCandidates } from '#console/state/findWorlds.ts'
import { formatCount } from '#console/state/format.ts'
import {
  type Deed,
  type Entry,
  type EntryGroup,
  entriesFor,
  entryAfter,
  firstChoice,
  type Offered,
} from '#console/state/palette.ts'
import { feedFailure, isLoaded, rowOf, rows } from '../../live/fleet.ts'
import { fleetProject, place } from '../../live/location.ts'
import { unversioned } from '../../live/organization.ts'
import { presentWorld } from '../../live/presentWorld.ts'
import { readAll } from '../../live/readAll.ts'
import { type Session, session } from '../../live/session.ts'
import { FaultNotice } from '../FailureNotice.tsx'
import { useLoader } from '../useLoader.ts'
import { doDeed } from './deeds.ts'
import { EntryList, listId, optionId } from './EntryList.tsx'
import './palette.css'

/** The longest text of a search, in characters. */
const maxLength = 200
/** The pages of organizations that are read, of 1,000 organizations each. */
const maxPages = 5

/** A field that searches pages, worlds and actions, and the entries that it finds. `close` closes the dialog around it. */
export const Palette = ({ close }: { readonly close: () => void }) => {
  const current = session.value
  return current === undefined ? null : <Search session={current} close={close} />
}

const useOrganizations = ({ client, credential }: Session) => {
  const hasSeveral = credential.organizationId === undefined
  return useLoader(
    async (signal) =>
      hasSeveral ? (await readAll(client.pages('listOrganizations', { signal }), maxPages)).items : undefined,
    unversioned,
  )
}

const useOffered = ({ credential, organizationId }: Session, organizations: Offered['organizations']) => {
  // As they were when the palette was opened, so that no entry moves before it is chosen.
  const worlds = useMemo(() => toCandidates(rows.peek().values()), [isLoaded.value])
  const { worldId, projectId } = place.value
  const shown = presentWorld.value?.worldId === worldId ? presentWorld.value : undefined
  return {
    credential,
    organizationId,
    fleetProject: fleetProject.value,
    world:
      worldId === ''
        ? undefined
        : { id: worldId, projectId, name: rowOf(worldId)?.name ?? worldId, phase: shown?.phase() },
    isActing: shown?.actions.pending.value !== undefined,
    worlds,
    organizations,
  }
}

const flat = (groups: readonly EntryGroup[]): readonly Entry[] => groups.flatMap(({ entries }) => entries)

const Search = ({ session, close }: { readonly session: Session; readonly close: () => void }) => {
  const text = useSignal('')
  /** The id of the chosen entry, which stays although others come or go. Undefined for the first one. */
  const chosen = useSignal<string | undefined>(undefined)
  const said = useSignal('')
  const lostEdits = useSignal(0)
  const field = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  const organizations = useOrganizations(session)
  const offered = { ...useOffered(session, organizations.slot.value.value), lostEdits: lostEdits.value }
  const groups = entriesFor(text.value, offered)
  const entries = flat(groups)
  const chosenId = chosen.value ?? firstChoice(text.value, groups)?.id
  const index = entries.findIndex(({ id }) => id === chosenId)
  const present = entries[index]
  const choose = (deed: Deed): void => doDeed(deed, { close, said, lostEdits })
  return (
    <>
      <div class="palette-field">
        <label class="visually-hidden" for="palette-text">
          Go to a world, page or action
        </label>
        <input
          ref={field}
          id="palette-text"
          type="text"
          role="combobox"
          aria-expanded={entries.length > 0}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={present === undefined ? undefined : optionId(present)}
          aria-describedby="palette-said"
          placeholder="World, page or action"
          autocomplete="off"
          spellcheck={false}
          maxLength={maxLength}
          value={text.value}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
            chosen.value = firstChoice(text.value, entriesFor(text.value, offered))?.id
            said.value = ''
          }}
          onKeyDown={(event) => {
            const next = entryAfter(index, event.key, entries.length)
            if (event.isComposing || (next === undefined && event.key !== 'Enter')) return
            event.preventDefault()
            // A held key confirms nothing.
            if (event.key === 'Enter' && event.repeat) return
            if (next !== undefined) chosen.value = entries[next]?.id
            else if (present !== undefined && present.refusal === undefined) choose(present.deed)
          }}
        />
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <EntryList groups={groups} present={present} onChoose={choose} />
      <p id="palette-said" role="status" class="muted small">
        {said.value || describe(entries.length, text.value === '' && session.organizationId !== '')}
        {session.organizationId !== '' && !isLoaded.value && noWorlds()}
      </p>
      {organizations.slot.value.fault !== undefined && (
        <FaultNotice what="The organizations" fault={organizations.slot.value.fault} onRetry={organizations.load} />
      )}
    </>
  )
}

const describe = (count: number, isFirst: boolean): string => {
  if (count === 0) return 'Nothing has all of these words.'
  return `${formatCount(count, 'result')}.${isFirst ? ' Type a part of the name, id, label or address of a world.' : ''}`
}

const noWorlds = (): string =>
  feedFailure.value === '' ? ' The worlds are not loaded yet.' : ' The worlds could not be loaded.'
