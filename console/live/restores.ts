import { type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, type Client } from '#client/client.ts'
import type { DeletedWorld } from '#client/operations.ts'
import { delayOfRestore } from '#console/state/actions.ts'
import { type Credential, type Session, session } from './session.ts'

type RestoreState =
  | { readonly state: 'pending' | 'waiting' | 'restored' }
  | { readonly state: 'failed'; readonly error: unknown }

/** The restore of a deleted world. It waits while the cluster still removes the world. */
type Restore = { readonly worldId: string; readonly name: string } & RestoreState

type Deleted = Pick<DeletedWorld, 'documentId' | 'name' | 'deletedAt'>

/** Returns the key of a deletion. A restored world may be deleted again. */
export const keyOf = ({ documentId, deletedAt }: Omit<Deleted, 'name'>): string => `${documentId} ${deletedAt}`

/** The restores of the deleted worlds of a project. They go on when the page changes, and end with the sign-in. */
export type Restores = {
  /** By `keyOf`, in the order of the clicks. */
  readonly all: ReadonlySignal<ReadonlyMap<string, Restore>>
  /** The time when one ended last. Empty before that. */
  readonly version: ReadonlySignal<string>
  /** Restores a world, unless that is under way. */
  run(world: Deleted): void
}

let known: { readonly credential: Credential; readonly byProject: Map<string, Restores> } | undefined

/** Returns the restores of a project: those of the present sign-in, until it ends. */
export const restoresIn = ({ credential, inProject }: Session, projectId: string): Restores => {
  if (known?.credential !== credential) known = { credential, byProject: new Map() }
  const found = known.byProject.get(projectId) ?? createRestores(inProject(projectId), credential)
  known.byProject.set(projectId, found)
  return found
}

const createRestores = (client: Client, credential: Credential): Restores => {
  const all = signal<ReadonlyMap<string, Restore>>(new Map())
  const version = signal('')
  const isEnded = (): boolean => session.peek()?.credential !== credential
  const run = async (world: Deleted): Promise<void> => {
    const { documentId: worldId, name } = world
    const set = (state: RestoreState): void => {
      all.value = new Map(all.peek()).set(keyOf(world), { worldId, name, ...state })
    }
    set({ state: 'pending' })
    for (let attempts = 1; !isEnded(); attempts += 1) {
      try {
        await client.restoreWorld({ params: { worldId } })
        set({ state: 'restored' })
        break
      } catch (error) {
        const delayMs = error instanceof ApiError ? delayOfRestore(error, attempts) : undefined
        set(delayMs === undefined ? { state: 'failed', error } : { state: 'waiting' })
        if (delayMs === undefined) break
        await new Promise((resolve) => setTimeout(resolve, delayMs))
      }
    }
    version.value = new Date().toISOString()
  }
  return {
    all,
    version,
    run: (world) => {
      const state = all.peek().get(keyOf(world))?.state
      if (state === undefined || state === 'failed') void run(world)
    },
  }
}
