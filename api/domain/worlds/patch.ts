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
 * Applies a PATCH to a world and its launch context. An absent field stays. An object replaces the previous one as a
 * whole; the schema has set its absent fields to their defaults.
 */
export const applyPatch = (
  world: WorldRow,
  context: LaunchContextRow,
  changes: PatchWorld,
): { world: WorldColumns; context: ContextColumns } => {
  const networking = changes.networking ?? world.networking
  const estimatedCapacity = scalingProfiles[networking.scaling.profile].capacity
  const admission = mergeAdmission(world, changes, estimatedCapacity)
  const runtime: Runtime = {
    ...(changes.runtime ?? world.runtime),
    capacity: admission.capacity,
    admissionPolicy: admission.policy,
  }
  const common = {
    name: changes.name ?? world.name,
    description: changes.description ?? world.description,
    pictureUrl: changes.pictureUrl === undefined ? world.pictureUrl : changes.pictureUrl || null,
  }
  return {
    world: {
      ...common,
      metadata: changes.metadata ?? world.metadata,
      manifest: changes.manifest ?? world.manifest,
      compute: changes.compute ?? world.compute,
      admission,
      networking,
      runtime,
      ...plainSettings.parse({ ...world, ...changes }),
      estimatedCapacity,
    },
    context: {
      ...common,
      isPublic: changes.isPublic ?? context.isPublic,
      details: toContextDetails({ runtime, admission }, pickContextInput(changes), context.details),
    },
  }
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
