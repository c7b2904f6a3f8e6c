import type { Signal } from '@preact/signals'
import { offersIn } from '#console/state/actions.ts'
import type { Deed } from '#console/state/palette.ts'
import { type Place, toPath } from '#console/state/route.ts'
import { copyText } from '../../live/clipboard.ts'
import { goTo, place } from '../../live/location.ts'
import { presentWorld } from '../../live/presentWorld.ts'
import { session, signOut } from '../../live/session.ts'
import { countUnsaved } from '../../live/unsaved.ts'
import { tabId } from '../world/Tabs.tsx'

type Palette = {
  readonly close: () => void
  /** The text that the palette shows about the last deed. */
  readonly said: Signal<string>
  /** The number of edits of which the palette says that a sign-out loses them. */
  readonly lostEdits: Signal<number>
}

/** Does what an entry of the palette says, and closes the palette unless it has something to say. */
export const doDeed = (deed: Deed, { close, said, lostEdits }: Palette): void => {
  if (deed.kind === 'copyLink') void copyLink(said)
  if (deed.kind === 'signOut') leave({ said, lostEdits })
  if (deed.kind !== 'act' && deed.kind !== 'go') return
  // The focus returns to the page first, and then goes on.
  close()
  if (deed.kind === 'act') act(deed)
  else go(deed.to)
}

const go = (to: Partial<Place>): void => {
  goTo(to)
  // A page without this tab takes the focus itself.
  if (to.worldId === undefined && to.tab !== undefined) document.getElementById(tabId(to.tab))?.focus()
}

/** Signs out, at the second time if that loses edits. */
const leave = ({ said, lostEdits }: Pick<Palette, 'said' | 'lostEdits'>): void => {
  const count = countUnsaved()
  if (count <= lostEdits.peek()) signOut()
  else {
    lostEdits.value = count
    said.value = 'Not saved yet. Choose it again to sign out and lose the edits.'
  }
}

/** The page may have changed since the entry was shown. */
const act = ({ action, worldId }: Extract<Deed, { kind: 'act' }>): void => {
  const present = presentWorld.peek()
  const world = present?.worldId === worldId ? present : undefined
  const phase = world?.phase()
  if (phase !== undefined && offersIn(phase, []).some(({ kind }) => kind === action)) world?.actions.run(action)
}

const copyLink = async (said: Signal<string>): Promise<void> => {
  // Another credential may have another organization.
  const organizationId = session.peek()?.organizationId ?? ''
  const isCopied = await copyText(`${location.origin}${toPath({ ...place.value, organizationId })}`)
  said.value = isCopied ? 'Copied' : 'The browser does not copy. Copy the address of the page instead.'
}
