import { isDeepStrictEqual } from 'node:util'
import { isRunning } from '#shared/domain/phases.ts'
import { plainSettings, runtimeSettings, type ServerSettings, settingWords } from '#shared/domain/world.ts'
import type { WorldPhase } from '#shared/enumerations.ts'
import type { Admission, Compute, Networking, Runtime } from './schema.ts'

/** The settings that a run keeps from its start to its end, by their words in messages. Edits act at the next start. */
export type RunSettings = Readonly<Record<string, unknown>>

type SettingsSource = ServerSettings & {
  readonly runtime: Pick<Runtime, 'build'>
  readonly networking: Networking
  readonly admission: Admission
  readonly compute: Compute
}

/** The settings that may be absent, and that runs of older versions lack. */
const absentSettings = { query: null }

/** Returns the settings with which a run of this row would start now. */
export const toRunSettings = (row: SettingsSource): RunSettings => ({
  build: row.runtime.build ?? null,
  'scaling profile': row.networking.scaling.profile,
  capacity: row.admission.capacity,
  ...toWords({ ...absentSettings, ...runtimeSettings.parse(row.runtime), ...plainSettings.parse(row) }),
  'networking strategy': row.networking.strategy,
  ports: row.networking.ports,
  place: `${row.compute.group} in ${row.compute.region}`,
})

const toWords = (settings: object): RunSettings =>
  Object.fromEntries(Object.entries(settings).map(([setting, value]) => [settingWords(setting), value]))

/**
 * Returns the part of the status message that names pending edits: those that take effect at the next start. Empty if
 * there are none.
 */
export const pendingEditsMessage = (
  row: SettingsSource & { readonly phase: WorldPhase; readonly startedWith: RunSettings | null },
): string => {
  if (row.startedWith === null || !isRunning(row)) return ''
  const current = toRunSettings(row)
  // A run that an older version started may have other settings.
  const changed = Object.entries({ ...absentSettings, ...row.startedWith }).flatMap(([name, value]) =>
    !(name in current) || isDeepStrictEqual(current[name], value) ? [] : [name],
  )
  return changed.length === 0 ? '' : `Changes of ${changed.join(', ')} take effect at the next start.`
}
