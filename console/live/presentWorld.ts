import { signal } from '@preact/signals'
import type { ActionPhase } from '#console/state/actions.ts'
import type { Actions } from './actions.ts'

/** The world whose page is shown, for the parts of the console outside of that page. */
export type PresentWorld = {
  readonly worldId: string
  readonly actions: Actions
  /** Returns the phase that the page shows. Undefined while it is unknown, and for a deleted world. Follows the signals that it reads. */
  readonly phase: () => ActionPhase | undefined
}

/** The page of a world sets it. Undefined without such a page. */
export const presentWorld = signal<PresentWorld | undefined>(undefined)
