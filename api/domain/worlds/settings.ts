import { isDeepStrictEqual } from 'node:util'
import type { BuildReference } from '#api/domain/builds/schema.ts'
import type { WorldPhase } from '#shared/enumerations.ts'
import type { Admission, Compute, Networking, Runtime } from './schema.ts'

/** The settings that a run keeps from its start to its end. Edits of them take effect at the next start. */
export type RunSettings = {
  readonly build: BuildReference | null
  readonly 'scaling profile': string
  readonly capacity: number
  readonly map: string
  readonly 'networking strategy': string
  readonly place: string
}

type SettingsSource = {
  readonly runtime: Runtime
  readonly networking: Networking
  readonly admission: Admission
  readonly compute: Compute
}

/** Returns the settings with which a run of this row would start now. */
export const toRunSettings = ({ runtime, networking, admission, compute }: SettingsSource): RunSettings => ({
  build: runtime.build ?? null,
  'scaling profile': networking.scaling.profile,
  capacity: admission.capacity,
  map: runtime.mapName,
  'networking strategy': networking.strategy,
  place: `${compute.group} in ${compute.region}`,
})

/**
 * Returns the part of the status message that names pending edits: those that take effect at the next start. Empty if
 * there are none.
 */
export const pendingEditsMessage = (
  row: SettingsSource & { readonly phase: WorldPhase; readonly startedWith: RunSettings | null },
): string => {
  if (row.startedWith === null || (row.phase !== 'Starting' && row.phase !== 'Active')) return ''
  const current: Record<string, unknown> = toRunSettings(row)
  const changed = Object.entries(row.startedWith).flatMap(([name, value]) =>
    isDeepStrictEqual(current[name], value) ? [] : [name],
  )
  return changed.length === 0 ? '' : `Changes of ${changed.join(', ')} take effect at the next start.`
}
