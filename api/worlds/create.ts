import type { NewId } from '#shared/ids.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import type { CreateWorld } from './schema.ts'
import type { LaunchContextRow, worlds } from './table.ts'

/** The rows that a create makes: the world and its launch context, with every default filled in. */
export const newWorldRows = (
  input: CreateWorld,
  at: { organizationId: string; projectId: string; newId: NewId; now: Date },
): { world: typeof worlds.$inferInsert; launchContext: LaunchContextRow } => {
  const { streaming, runtime, admission, ...given } = input
  const scope = { organizationId: at.organizationId, projectId: at.projectId }
  const policy = admission.policy ?? runtime.admissionPolicy ?? 'Open'
  const capacity = admission.capacity ?? runtime.capacity ?? scalingProfiles[input.networking.scaling.profile].capacity
  const world = {
    id: at.newId('world'),
    ...scope,
    ...given,
    runtime: { ...runtime, capacity, admissionPolicy: policy },
    admission: { policy, capacity },
    createdAt: at.now,
    updatedAt: at.now,
  }
  const { build } = runtime
  const launchContext: LaunchContextRow = {
    id: at.newId('launchContext'),
    ...scope,
    worldId: world.id,
    name: input.name,
    description: input.description ?? null,
    pictureUrl: input.pictureUrl ?? null,
    isActive: true,
    isPublic: false,
    isWorldTravelOnly: false,
    useWorldSessions: true,
    details: {
      publicDownload: { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false },
      errorPageUrl: streaming.errorPageUrl,
      okPageUrl: streaming.okPageUrl,
      bypassBrowserRestrictions: streaming.bypassBrowserRestrictions,
      ...(streaming.providerA === undefined ? {} : { providerAStreaming: streaming.providerA }),
      ...(streaming.providerB === undefined ? {} : { providerBStreaming: streaming.providerB }),
      ...(streaming.streamManager === undefined ? {} : { streamManager: streaming.streamManager }),
      enableQueue: policy === 'Queued',
      capacity,
      ...(build !== undefined && 'tag' in build
        ? { buildInfo: { buildChannelId: build.channelId, buildTag: build.tag, buildType: 'client' } }
        : {}),
    },
  }
  return { world, launchContext }
}
