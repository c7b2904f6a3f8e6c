import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { contextDetails } from './launchContext.ts'
import type { Admission, PatchWorld, Runtime } from './schema.ts'
import type { LaunchContextRow, WorldRow } from './table.ts'

type WorldColumns = Pick<
  WorldRow,
  'name' | 'description' | 'pictureUrl' | 'metadata' | 'manifest' | 'admission' | 'compute' | 'networking' | 'runtime'
> & { estimatedCapacity: number }
type ContextColumns = Pick<LaunchContextRow, 'name' | 'description' | 'pictureUrl' | 'isPublic' | 'details'>

/**
 * What a PATCH makes of a world and its launch context: a field left out stays, and a supplied object replaces the old
 * one whole, with what it leaves out back at its default (which the schema has filled in).
 */
export const patched = (
  world: WorldRow,
  context: LaunchContextRow,
  changes: PatchWorld,
): { world: WorldColumns; context: ContextColumns } => {
  const networking = changes.networking ?? world.networking
  const estimatedCapacity = scalingProfiles[networking.scaling.profile].capacity
  const admission = admitted(world, changes, estimatedCapacity)
  const runtime: Runtime = {
    ...(changes.runtime ?? world.runtime),
    capacity: admission.capacity,
    admissionPolicy: admission.policy,
  }
  const shown = {
    name: changes.name ?? world.name,
    description: changes.description ?? world.description,
    pictureUrl: changes.pictureUrl === undefined ? world.pictureUrl : changes.pictureUrl || null,
  }
  return {
    world: {
      ...shown,
      metadata: changes.metadata ?? world.metadata,
      manifest: changes.manifest ?? world.manifest,
      compute: changes.compute ?? world.compute,
      admission,
      networking,
      runtime,
      estimatedCapacity,
    },
    context: {
      ...shown,
      isPublic: changes.isPublic ?? context.isPublic,
      details: contextDetails({ runtime, admission }, given(changes), context.details),
    },
  }
}

/**
 * Admission wins and runtime mirrors it. What a PATCH says of admission counts first, then what it says in runtime, then
 * what was there; a capacity that was only the profile's own follows the profile.
 */
const admitted = (world: WorldRow, { admission, runtime }: PatchWorld, estimatedCapacity: number): Admission => {
  const kept = world.admission.capacity === world.estimatedCapacity ? estimatedCapacity : world.admission.capacity
  return {
    policy: admission?.policy ?? runtime?.admissionPolicy ?? world.admission.policy,
    capacity: admission?.capacity ?? runtime?.capacity ?? (admission === undefined ? kept : estimatedCapacity),
  }
}

const given = ({ streaming, publicDownload }: PatchWorld) => ({
  ...(streaming === undefined ? {} : { streaming }),
  ...(publicDownload === undefined ? {} : { publicDownload }),
})
