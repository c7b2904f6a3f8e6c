import { isDeepStrictEqual } from 'node:util'
import type { BuildReference } from '#api/domain/builds/schema.ts'
import type { WorldPhase } from '#shared/enumerations.ts'
import type { Admission, Compute, Networking, Runtime } from './schema.ts'

/** What a run is started with: an edit of one of these waits for the next start. */
export type RunSettings = {
  readonly build: BuildReference | null
  readonly 'scaling profile': string
  readonly capacity: number
  readonly map: string
  readonly 'networking strategy': string
  readonly place: string
}

type Settled = {
  readonly runtime: Runtime
  readonly networking: Networking
  readonly admission: Admission
  readonly compute: Compute
}

/** The settings that a run of this row would start with now. */
export const runSettings = ({ runtime, networking, admission, compute }: Settled): RunSettings => ({
  build: runtime.build ?? null,
  'scaling profile': networking.scaling.profile,
  capacity: admission.capacity,
  map: runtime.mapName,
  'networking strategy': networking.strategy,
  place: `${compute.group} in ${compute.region}`,
})

/** What is to be said of edits that wait for the next start; empty where nothing waits. */
export const waitingEdits = (
  row: Settled & { readonly phase: WorldPhase; readonly startedWith: RunSettings | null },
): string => {
  if (row.startedWith === null || (row.phase !== 'Starting' && row.phase !== 'Active')) return ''
  const now: Record<string, unknown> = runSettings(row)
  const changed = Object.entries(row.startedWith).flatMap(([name, value]) =>
    isDeepStrictEqual(now[name], value) ? [] : [name],
  )
  return changed.length === 0 ? '' : `At the next start another ${changed.join(', ')} takes effect.`
}
