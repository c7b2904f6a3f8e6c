import { batch, type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, type Client, type InputFault } from '#client/client.ts'
import type { PatchWorld, WorldDeployment } from '#client/operations.ts'
import {
  afterSave,
  type Draft,
  dropEdit,
  editedFields,
  editField,
  followLatest,
  keepMine,
} from '#console/state/settings/draft.ts'
import { type Faults, faultsBeside, patchOf } from '#console/state/settings/patch.ts'
import { hasRun } from '#console/state/settings/run.ts'
import { differencesOf, isAlike, isOlder, toVersion, type Version } from '#console/state/settings/version.ts'

/** The result of the last attempt to save, with the ids of the settings that were saved. */
export type Outcome =
  | { readonly kind: 'saved'; readonly ids: readonly string[] }
  /** Somebody else changed settings first: those of `ids`, and perhaps some that the page does not show. */
  | { readonly kind: 'outdated'; readonly ids: readonly string[] }
  | { readonly kind: 'failed'; readonly error: unknown; readonly others: readonly InputFault[] }

/** The settings of a world, and their edits. The edits stay while other pages are shown, until the sign-out. */
export type Editor = {
  readonly latest: ReadonlySignal<Version | undefined>
  readonly draft: ReadonlySignal<Draft | undefined>
  /** The faults of edited settings in the last attempt to save. An edit of a setting removes its faults. */
  readonly faults: ReadonlySignal<Faults>
  readonly outcome: ReadonlySignal<Outcome | undefined>
  readonly isSaving: ReadonlySignal<boolean>
  /** Reads the newest version, then the record of its run if it has one. */
  read(signal: AbortSignal): Promise<{ readonly run: WorldDeployment | undefined }>
  edit(id: string, text: string): void
  /** Drops the edit of a setting. */
  drop(id: string): void
  /** Decides for the edit of a setting that others have changed. */
  keep(id: string): void
  /** Drops all edits, unless they are being sent. */
  discard(): void
  /**
   * Sends the edits, unless they are being sent. If only the state of the world has changed, such as by a restart, it sends them again.
   * Resolves after the outcome is set.
   */
  save(): Promise<void>
}

const openStatuses = ['Unknown', 'Pending', 'Starting', 'Running', 'Restarting'] as const

/** The attempts to send the edits, if only the state of the world changes in between. */
const maxAttempts = 3

const requestsOf = (client: Pick<Client, 'request' | 'listWorldDeployments'>, worldId: string) => {
  const params = { worldId }
  return {
    readVersion: async (signal?: AbortSignal): Promise<Version> => {
      const { headers, body } = await client.request('getWorld', { params, ...(signal && { signal }) })
      return toVersion(body, headers.get('etag') ?? '')
    },
    patch: async ({ base }: Draft, patch: PatchWorld): Promise<Version> => {
      const input = { params, headers: { 'if-match': base.etag }, body: patch }
      const { headers, body } = await client.request('patchWorld', input)
      return toVersion(body, headers.get('etag') ?? '')
    },
    readRun: async ({ world }: Version, signal: AbortSignal): Promise<WorldDeployment | undefined> => {
      if (!hasRun(world)) return undefined
      const runs = await client.listWorldDeployments({ params, query: { status: [...openStatuses] }, signal })
      return runs.find(({ runId }) => runId === world.status.runId)
    },
  }
}

const createState = () => ({
  latest: signal<Version | undefined>(undefined),
  draft: signal<Draft | undefined>(undefined),
  faults: signal<Faults>({}),
  outcome: signal<Outcome | undefined>(undefined),
  isSaving: signal(false),
})
type State = ReturnType<typeof createState>

/** Shows versions. It holds back what is read during a save: before the answer, nobody can tell whose change it is. */
const createIntake = ({ latest, draft, outcome, isSaving }: State) => {
  let held: Version | undefined
  const show = (version: Version, edits: Draft | undefined): void =>
    batch(() => {
      if (version.world.status.runId !== latest.peek()?.world.status.runId) outcome.value = undefined
      latest.value = version
      draft.value = edits && followLatest(edits, version)
    })
  const take = (version: Version): void => {
    const known = held ?? latest.peek()
    // The answer of a request that began earlier may come later.
    if (known !== undefined && isOlder(version, known)) return
    if (isSaving.peek()) held = version
    else show(version, draft.peek())
  }
  const release = (): void => {
    const version = held
    held = undefined
    if (version !== undefined) take(version)
  }
  const forget = (): void => {
    held = undefined
  }
  return { show, take, release, forget }
}

const createSave = (
  state: State,
  { show, release, forget }: ReturnType<typeof createIntake>,
  { patch, readVersion }: ReturnType<typeof requestsOf>,
) => {
  const { draft, faults, outcome, isSaving } = state
  const send = async (edits: Draft, attempt = 1): Promise<Outcome | undefined> => {
    const made = patchOf(edits)
    if ('faults' in made) {
      faults.value = made.faults
      return undefined
    }
    try {
      const saved = await patch(edits, made.patch)
      show(saved, afterSave(draft.peek(), edits, saved))
      return { kind: 'saved', ids: editedFields(edits).map(({ id }) => id) }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412)) throw error
      // The API has refused the version that is known, whatever its revision: a restored database has lower ones.
      forget()
      const version = await readVersion()
      show(version, draft.peek())
      if (isAlike(edits.base, version) && attempt < maxAttempts) {
        return await send({ ...edits, base: version }, attempt + 1)
      }
      return { kind: 'outdated', ids: differencesOf(edits.base, version).map(({ id }) => id) }
    }
  }
  const explain = (error: unknown, edits: Draft): Outcome => {
    if (!(error instanceof ApiError)) return { kind: 'failed', error, others: [] }
    const found = faultsBeside(error.errors, editedFields(edits))
    faults.value = found.faults
    return { kind: 'failed', error, others: found.others }
  }
  return async (): Promise<void> => {
    const edits = draft.peek()
    if (edits === undefined || isSaving.peek()) return
    isSaving.value = true
    faults.value = {}
    outcome.value = undefined
    const result = await send(edits).catch((error: unknown) => explain(error, edits))
    batch(() => {
      isSaving.value = false
      release()
      outcome.value = result
    })
  }
}

/** Creates the editor of a world, with the client of its project. */
export const createEditor = (client: Pick<Client, 'request' | 'listWorldDeployments'>, worldId: string): Editor => {
  const state = createState()
  const { latest, draft, faults, outcome, isSaving } = state
  const requests = requestsOf(client, worldId)
  const intake = createIntake(state)
  /** Changes the draft by a decision that needs the newest version. */
  const change = (decide: (draft: Draft | undefined, latest: Version) => Draft | undefined): void => {
    const version = latest.peek()
    if (version !== undefined) draft.value = decide(draft.peek(), version)
  }
  const forgetFault = (id: string): void => {
    const { [id]: _, ...others } = faults.peek()
    faults.value = others
  }
  return {
    ...state,
    read: async (signal) => {
      const version = await requests.readVersion(signal)
      intake.take(version)
      return { run: await requests.readRun(version, signal) }
    },
    edit: (id, text) => {
      forgetFault(id)
      outcome.value = undefined
      change((edits, version) => editField(edits, version, id, text))
    },
    drop: (id) => {
      forgetFault(id)
      change((edits, version) => edits && dropEdit(edits, version, id))
      if (draft.peek() === undefined) outcome.value = undefined
    },
    keep: (id) => change((edits, version) => edits && keepMine(edits, version, id)),
    discard: () => {
      if (isSaving.peek()) return
      faults.value = {}
      outcome.value = undefined
      draft.value = undefined
    },
    save: createSave(state, intake, requests),
  }
}
