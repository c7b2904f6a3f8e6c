import { withDefined } from '#shared/optional.ts'
import type { Admission, LaunchContextDetails, PatchWorld, Runtime, Streaming } from './schema.ts'

const noDownload = { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false }

type ContextInput = Pick<PatchWorld, 'streaming' | 'publicDownload'>

/**
 * Returns the details of a launch context. Fields of the input replace those of `before`. Queue, capacity and build are
 * copies of the world's.
 */
export const toContextDetails = (
  world: { runtime: Pick<Runtime, 'build'>; admission: Admission },
  input: ContextInput,
  before?: LaunchContextDetails,
): LaunchContextDetails => {
  const { build } = world.runtime
  return {
    publicDownload: input.publicDownload ?? before?.publicDownload ?? noDownload,
    ...(input.streaming === undefined ? keepStreaming(before) : toStreamingDetails(input.streaming)),
    enableQueue: world.admission.policy === 'Queued',
    capacity: world.admission.capacity,
    ...(build !== undefined && 'tag' in build
      ? { buildInfo: { buildChannelId: build.channelId, buildTag: build.tag, buildType: 'client' } }
      : {}),
  }
}

type StreamingDetails = Pick<LaunchContextDetails, 'errorPageUrl' | 'okPageUrl' | 'bypassBrowserRestrictions'> &
  Partial<Pick<LaunchContextDetails, 'providerAStreaming' | 'providerBStreaming' | 'streamManager'>>

/** Renames the fields of a world's `streaming` to those of the launch context. */
const toStreamingDetails = ({ providerA, providerB, ...rest }: Streaming): StreamingDetails => ({
  ...rest,
  ...withDefined({ providerAStreaming: providerA, providerBStreaming: providerB }),
})

const keepStreaming = (before: LaunchContextDetails | undefined): StreamingDetails => {
  if (before === undefined) return { errorPageUrl: '', okPageUrl: '', bypassBrowserRestrictions: false }
  const { publicDownload: _, enableQueue: __, capacity: ___, buildInfo: ____, ...streaming } = before
  return streaming
}
