import { type PlainSettings, plainSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { toContextDetails } from './launchContext.ts'
import type { Admission, PatchWorld, Runtime } from './schema.ts'
import type { LaunchContextRow, WorldRow } from './table.ts'

type WorldColumns = Pick<
  WorldRow,
  'name' | 'description' | 'pictureUrl' | 'metadata' | 'manifest' | 'admission' | 'compute' | 'networking' | 'runtime'
> &
  PlainSettings & { estimatedCapacity: number }
type ContextColumns = Pick<LaunchContextRow, 'name' | 'description' | 'pictureUrl' | 'isPublic' | 'details'>

/**
 * Applies a PATCH to a world. An absent field stays. An object replaces the previous one as a whole; the schema has set its
 * absent fields to their defaults.
 */
export const patchColumns = (world: WorldRow, changes: PatchWorld): WorldColumns => {
  const networking = changes.networking ?? world.networking
  const estimatedCapacity = scalingProfiles[networking.scaling.profile].capacity
  const admission = mergeAdmission(world, changes, estimatedCapacity)
  const runtime: Runtime = {
    ...(changes.runtime ?? world.runtime),
    capacity: admission.capacity,
    admissionPolicy: admission.policy,
  }
  return {
    name: changes.name ?? world.name,
    description: changes.description ?? world.description,
    pictureUrl: changes.pictureUrl === undefined ? world.pictureUrl : changes.pictureUrl || null,
    metadata: changes.metadata ?? world.metadata,
    manifest: changes.manifest ?? world.manifest,
    compute: changes.compute ?? world.compute,
    admission,
    networking,
    runtime,
    ...plainSettings.parse({ ...world, ...changes }),
    estimatedCapacity,
  }
}

/** Applies a PATCH to a world, as `patchColumns` does, and to its launch context. */
export const applyPatch = (
  before: WorldRow,
  context: LaunchContextRow,
  changes: PatchWorld,
): { world: WorldColumns; context: ContextColumns } => {
  const world = patchColumns(before, changes)
  const { name, description, pictureUrl } = world
  const isPublic = changes.isPublic ?? context.isPublic
  const details = toContextDetails(world, pickContextInput(changes), context.details)
  return { world, context: { name, description, pictureUrl, isPublic, details } }
}

/**
 * Returns the admission after a PATCH. `admission` of the PATCH takes precedence over `runtime` of the PATCH, and that
 * over the previous value. A capacity equal to that of the previous scaling profile changes with the profile.
 */
const mergeAdmission = (world: WorldRow, { admission, runtime }: PatchWorld, estimatedCapacity: number): Admission => {
  const previous = world.admission.capacity === world.estimatedCapacity ? estimatedCapacity : world.admission.capacity
  return {
    policy: admission?.policy ?? runtime?.admissionPolicy ?? world.admission.policy,
    capacity: admission?.capacity ?? runtime?.capacity ?? (admission === undefined ? previous : estimatedCapacity),
  }
}

const pickContextInput = ({ streaming, publicDownload }: PatchWorld) => withDefined({ streaming, publicDownload })
