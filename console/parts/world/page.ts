import { computed, effect, type ReadonlySignal, signal } from '@preact/signals'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { World } from '#client/operations.ts'
import type { Existence } from '#console/state/worldLoad.ts'
import { existenceOf } from '#console/state/worldLoad.ts'
import { type Actions, createActions } from '../../live/actions.ts'
import { isLoaded, rowOf } from '../../live/fleet.ts'
import { createLoader, type Loader, loadOnChange } from '../../live/loader.ts'
import type { Session } from '../../live/session.ts'
import { readsOf, type Why } from '../../live/world.ts'

/** The state that the parts of a world's page share. */
export type PageState = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly credential: Session['credential']
  readonly openStream: Session['openStream']
  readonly actions: Actions
  readonly reads: ReturnType<typeof readsOf>
  /** The version of the world in the feed. Empty while the feed does not show it. */
  readonly version: ReadonlySignal<string>
  readonly world: Loader<World>
  readonly why: Loader<Why>
  readonly existence: ReadonlySignal<Existence>
}

/** Returns the state of the page of a world, which loads while the component is mounted. */
export const usePage = ({
  session: { organizationId, credential, openStream, inProject },
  projectId,
  worldId,
}: {
  readonly session: Session
  readonly projectId: string
  readonly worldId: string
}): PageState => {
  const [{ page, start }] = useState(() => {
    const client = inProject(projectId)
    const reads = readsOf(client, worldId)
    const version = computed(() => rowOf(worldId)?.version ?? '')
    const hasShown = signal(false)
    const world = createLoader(reads.world)
    const why = createLoader(reads.why)
    const existence = computed(() => {
      const isShown = isLoaded.value ? version.value !== '' : hasShown.value
      return existenceOf(world.slot.value, { hasShown: hasShown.value, isShown })
    })
    const actions = createActions({
      client,
      worldId,
      etag: reads.etag,
      version,
      runId: () => world.slot.peek().value?.status.runId,
      read: reads.world,
      load: world.load,
    })
    const page: PageState = {
      organizationId,
      projectId,
      worldId,
      credential,
      openStream,
      actions,
      reads,
      version,
      world,
      why,
      existence,
    }
    const start = (): (() => void) => {
      const ends = [
        effect(() => {
          if (version.value !== '') hasShown.value = true
        }),
        loadOnChange(world, version),
        loadOnChange(why, version),
        actions.close,
      ]
      return () => {
        for (const end of ends) end()
      }
    }
    return { page, start }
  })
  // The page may be left before it is painted, and has followed the feed since its first render.
  useLayoutEffect(start, [start])
  return page
}
