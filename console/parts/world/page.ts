import { computed, effect, type ReadonlySignal, signal } from '@preact/signals'
import { useLayoutEffect, useState } from 'preact/hooks'
import type { World } from '#client/operations.ts'
import { type ActionPhase, actionPhaseOf } from '#console/state/actions.ts'
import type { Existence } from '#console/state/worldLoad.ts'
import { existenceOf } from '#console/state/worldLoad.ts'
import { type Actions, createActions } from '../../live/actions.ts'
import { isLoaded, rowOf } from '../../live/fleet.ts'
import { createLoader, type Loader, loadOnChange } from '../../live/loader.ts'
import { presentWorld } from '../../live/presentWorld.ts'
import type { Session } from '../../live/session.ts'
import { createUseReader, type UseReader } from '../../live/use.ts'
import { readsOf, type Why } from '../../live/world.ts'

/** The state that the parts of a world's page share. */
export type PageState = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly credential: Session['credential']
  readonly openStream: Session['openStream']
  readonly actions: Actions
  readonly use: UseReader
  readonly reads: ReturnType<typeof readsOf>
  /** The version of the world in the feed. Empty while the feed does not show it. */
  readonly version: ReadonlySignal<string>
  readonly world: Loader<World>
  readonly why: Loader<Why>
  readonly existence: ReadonlySignal<Existence>
  /** Returns the phase that the page shows. Undefined while it is unknown, and for a deleted world. Follows the signals that it reads. */
  readonly phase: () => ActionPhase | undefined
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
    const phase = (): ActionPhase | undefined => {
      const { value } = world.slot.value
      const shown = rowOf(worldId)?.phase ?? value?.status.phase
      return existence.value === 'deleted' || shown === undefined ? undefined : actionPhaseOf(shown, value)
    }
    const use = createUseReader({
      client,
      worldId,
      hasServer: computed(() => ['Starting', 'Active'].includes(phase() ?? '')),
    })
    const page: PageState = {
      organizationId,
      projectId,
      worldId,
      credential,
      openStream,
      actions,
      use,
      reads,
      version,
      world,
      why,
      existence,
      phase,
    }
    const shown = { worldId, actions, phase }
    const start = (): (() => void) => {
      presentWorld.value = shown
      const ends = [
        effect(() => {
          if (version.value !== '') hasShown.value = true
        }),
        loadOnChange(world, version),
        loadOnChange(why, version),
        actions.close,
        use.close,
        () => {
          if (presentWorld.peek() === shown) presentWorld.value = undefined
        },
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
