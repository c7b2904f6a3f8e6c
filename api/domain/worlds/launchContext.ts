import type { Admission, LaunchContextDetails, PatchWorld, Runtime, Streaming } from './schema.ts'

const noDownload = { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false }

type Given = { streaming?: Streaming; publicDownload?: NonNullable<PatchWorld['publicDownload']> }

/** What a launch context says beside its columns: what was given, over what it said before, and what mirrors the world. */
export const contextDetails = (
  world: { runtime: Runtime; admission: Admission },
  given: Given,
  before?: LaunchContextDetails,
): LaunchContextDetails => {
  const { build } = world.runtime
  return {
    publicDownload: given.publicDownload ?? before?.publicDownload ?? noDownload,
    ...(given.streaming === undefined ? streamed(before) : landed(given.streaming)),
    enableQueue: world.admission.policy === 'Queued',
    capacity: world.admission.capacity,
    ...(build !== undefined && 'tag' in build
      ? { buildInfo: { buildChannelId: build.channelId, buildTag: build.tag, buildType: 'client' } }
      : {}),
  }
}

type Streamed = Pick<LaunchContextDetails, 'errorPageUrl' | 'okPageUrl' | 'bypassBrowserRestrictions'> &
  Partial<Pick<LaunchContextDetails, 'providerAStreaming' | 'providerBStreaming' | 'streamManager'>>

/** Where the parts of a world's `streaming` stand in its launch context. */
const landed = ({ providerA, providerB, streamManager, ...rest }: Streaming): Streamed => ({
  ...rest,
  ...(providerA === undefined ? {} : { providerAStreaming: providerA }),
  ...(providerB === undefined ? {} : { providerBStreaming: providerB }),
  ...(streamManager === undefined ? {} : { streamManager }),
})

const streamed = (before: LaunchContextDetails | undefined): Streamed => {
  if (before === undefined) return { errorPageUrl: '', okPageUrl: '', bypassBrowserRestrictions: false }
  const { publicDownload: _, enableQueue: __, capacity: ___, buildInfo: ____, ...kept } = before
  return kept
}
