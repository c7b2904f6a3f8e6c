import * as z from 'zod'
import { buildReference, resolvedBuild } from '#api/domain/builds/schema.ts'
import { conditionAnswer } from '#api/domain/events/conditions.ts'
import { boundedText, linkText, shownId, shownInstant, textMap, uriOrEmpty } from '#api/platform/http/fields.ts'
import { maxManifestBytes, withinJsonBytes, withinMetadataLimit } from '#shared/domain/common.ts'
import { runtimeSettings, serverSettings, worldDefaults, worldFields } from '#shared/domain/world.ts'
import {
  admissionPolicies,
  buildTypes,
  controlPolicies,
  launchModes,
  networkingStrategies,
  type WorldPhase,
  worldPhases,
} from '#shared/enumerations.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'
import { createWorldExample, patchWorldExample, publicWorldExample, worldExample } from './examples.ts'

// A create sets all defaults. A PATCH replaces an object as a whole: the fields that it must have are required, and its
// other absent fields get their defaults.
const text = (max = 256) => boundedText(max)
const flag = () => z.boolean().default(false)

const name = () =>
  worldFields.displayName
    // Matches the same texts as ^.+\S.*$ without its quadratic backtracking. The classes stand for `.`, which other dialects of
    // regular expressions read in another way.
    .regex(
      /^[^\n\r\u2028\u2029][^\S\n\r\u2028\u2029]*\S[^\n\r\u2028\u2029]*$/u,
      'must have at least two characters, and a visible one after the first',
    )
    .meta({ minLength: 1, maxLength: 64, examples: [createWorldExample.name] })

const maps = { annotations: textMap(), labels: textMap() }
const metadata = withinMetadataLimit(
  z.strictObject({ annotations: maps.annotations.default({}), labels: maps.labels.default({}) }),
)
const { group, region, strategy, profile, capacity } = worldFields
const compute = z.strictObject({
  ...serverSettings.shape.compute.unwrap().shape,
  version: text().exactOptional(),
})
const configuration = z.null().default(null)
const networking = z.strictObject({
  ...serverSettings.shape.networking.unwrap().shape,
  scaling: z.strictObject({ profile: profile.default(worldDefaults.profile), configuration }).prefault({}),
})
const runtime = z.strictObject({
  build: buildReference.exactOptional(),
  ...runtimeSettings.shape,
  durationMinutes: worldFields.durationMinutes.exactOptional(),
  capacity: capacity.exactOptional(),
  admissionPolicy: z.enum(admissionPolicies).exactOptional(),
})
const permissions = z.array(text()).max(256)
const manifest = withinJsonBytes(
  maxManifestBytes,
  z.strictObject({ serverPermissions: permissions.default([]), clientPermissions: permissions.default([]) }),
)
const admission = z.strictObject({
  policy: z.enum(admissionPolicies).exactOptional(),
  capacity: capacity.exactOptional(),
})
const sessions = z.strictObject({
  controlPolicy: z.enum(controlPolicies).default('Unlimited'),
  streamingTicketPredicate: text(1024).default(''),
  flags: z
    .strictObject({
      ignoreExpiry: flag(),
      ignoreSlotRenewalErrors: flag(),
      ignoreParentMissing: flag(),
      useImmediateMode: flag(),
    })
    .prefault({}),
  forceTravelWorldId: text().default(''),
})
const streamingA = z.strictObject({
  cmsId: text().default(''),
  authorizationId: text().default(''),
  launchMode: z.enum(launchModes).default('same-tab'),
})
const streaming = z.strictObject({
  providerA: streamingA.exactOptional(),
  streamManager: z
    .strictObject({
      streamContextId: text().default(''),
      allowForceProvider: flag(),
      showProviderOptions: flag(),
      useBuildVersion: flag(),
    })
    .exactOptional(),
  providerB: z.strictObject({ gameLabel: text().default(''), gameChannel: text().default('') }).exactOptional(),
  bypassBrowserRestrictions: flag(),
  okPageUrl: linkText().default(''),
  errorPageUrl: linkText().default(''),
})

/** The body of `POST /api/worlds/`. All nested fields are optional. */
export const createWorldBody = z
  .strictObject({
    name: name(),
    transient: worldFields.transient,
    description: worldFields.description.exactOptional(),
    pictureUrl: uriOrEmpty().exactOptional(),
    metadata: metadata.prefault({}),
    manifest: manifest.prefault({}),
    admission: admission.prefault({}),
    sessions: sessions.prefault({}),
    compute: compute.prefault({}),
    networking: networking.prefault({}),
    runtime: runtime.prefault({}),
    streaming: streaming.prefault({}),
  })
  .meta({ id: 'CreateWorld', examples: [createWorldExample] })

/** The response of `POST /api/worlds/`. */
export const createdWorld = z.object({ worldId: shownId('world'), launchContextId: shownId('launchContext') }).meta({
  id: 'CreatedWorld',
  examples: [{ worldId: worldExample.documentId, launchContextId: worldExample.launchContext.launchContextId }],
})

const publicDownload = z.strictObject({
  enabled: z.boolean(),
  enforceAntiCheat: z.boolean(),
  allowMac: z.boolean(),
  allowIos: z.boolean(),
})

/** The body of `PATCH /api/worlds/{worldId}/`. Absent fields stay; an object replaces the previous one as a whole. */
export const patchWorldBody = z
  .strictObject({
    name: name().exactOptional(),
    description: worldFields.description.exactOptional(),
    pictureUrl: uriOrEmpty().exactOptional(),
    isPublic: z.boolean().exactOptional(),
    metadata: withinMetadataLimit(z.strictObject(maps)).exactOptional(),
    manifest: withinJsonBytes(
      maxManifestBytes,
      z.strictObject({ serverPermissions: permissions, clientPermissions: permissions }),
    ).exactOptional(),
    admission: admission.required({ policy: true }).exactOptional(),
    compute: compute.extend({ group, region }).exactOptional(),
    networking: z.strictObject({ strategy, scaling: z.strictObject({ profile, configuration }) }).exactOptional(),
    runtime: runtime.exactOptional(),
    streaming: streaming.exactOptional(),
    publicDownload: publicDownload.exactOptional(),
  })
  .meta({ id: 'PatchWorld', examples: [patchWorldExample] })

// Generated clients for Go have a type Client, which a constant of that name would collide with.
const buildType = z.enum(buildTypes).meta({ 'x-enum-varnames': ['ClientBuild', 'ServerBuild'] })
const buildInfo = z.object({ buildChannelId: text(), buildTag: text(), buildType })

/** The JSON part of a launch context's row. It contains the fields of the world's `streaming`. */
const launchContextDetails = z.object({
  publicDownload,
  errorPageUrl: z.string(),
  okPageUrl: z.string(),
  providerAStreaming: streaming.shape.providerA,
  providerBStreaming: streaming.shape.providerB,
  streamManager: streaming.shape.streamManager,
  bypassBrowserRestrictions: z.boolean(),
  enableQueue: z.boolean(),
  capacity: z.number(),
  buildInfo: buildInfo.exactOptional(),
})

const launchContext = launchContextDetails
  .extend({
    launchContextId: shownId('launchContext'),
    worldId: shownId('world'),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    name: z.string(),
    description: z.string(),
    splashScreenUrl: z.string(),
    pictureUrl: z.string().exactOptional(),
    isActive: z.boolean(),
    isPublic: z.boolean(),
    isWorldTravelOnly: z.boolean(),
    useWorldSessions: z.boolean(),
    permissionVerb: z.enum(['r', 'w', '*']),
  })
  .meta({ id: 'LaunchContext', examples: [worldExample.launchContext] })

/** The number of users that wait to enter a world, and that are in it. */
export const queueState = z.object({ queued: z.number(), active: z.number() })
/** The policy and capacity of a world in responses. `runtime` contains a copy of both. */
export const admissionAnswer = z.object({ policy: z.enum(admissionPolicies), capacity: z.number() })
/** The owner's annotations and labels in responses. */
export const metadataAnswer = metadata

/** The address of a world's game port for players, for TCP and UDP. */
const address = z.object({
  host: z.string().describe('IP address or host name.'),
  port: z.int().describe('Port number, for TCP and UDP.'),
})
/** The address of a server in responses. */
export const addressFields = {
  address: address.exactOptional().describe('Address for players. Absent while no server can be reached.'),
  strategy: z
    .enum(networkingStrategies)
    .exactOptional()
    .describe('Type of the Service behind the address. Default means the address of the pod.'),
}

/** The times of creation and change in responses. */
export const timestampFields = {
  createdAt: shownInstant().describe('Time of the creation.'),
  updatedAt: shownInstant().describe('Time of the last change of the desired state.'),
}
const world = z.object({
  documentId: shownId('world'),
  organizationId: shownId('organization'),
  projectId: shownId('project'),
  name: z.string(),
  description: z.string(),
  pictureUrl: z.string().exactOptional(),
  transient: z.boolean(),
  metadata,
  compute,
  networking,
  runtime,
  manifest,
  admission: admissionAnswer,
  sessions,
  status: z.object({
    phase: z.enum(worldPhases),
    message: z.string(),
    startedAt: shownInstant().exactOptional(),
    resolvedBuild: resolvedBuild.exactOptional(),
    runId: shownId('run').exactOptional(),
    ...addressFields,
    conditions: z.array(conditionAnswer).describe('Conditions of the world. Empty until the operator has reported.'),
  }),
  launchContext,
  queueState,
  ...timestampFields,
})

/** A world in responses to its organization. */
export const worldAnswer = world.meta({ id: 'World', examples: [worldExample] })

/** A world in a list whose query names its fields. */
export const sparseWorld = world
  .partial()
  .required({ documentId: true })
  .meta({ id: 'WorldFields', examples: [{ documentId: worldExample.documentId, name: worldExample.name }] })

/** The number of worlds, in total and in each phase. */
export const worldCounts = z
  .object({
    total: z.int().describe('Number of worlds.'),
    phases: z
      .object({
        Inactive: z.int().describe('Number of worlds that never ran.'),
        Starting: z.int().describe('Number of worlds whose server is not ready yet.'),
        Active: z.int().describe('Number of worlds that run.'),
        Stopped: z.int().describe('Number of worlds whose last run has ended.'),
        Error: z.int().describe('Number of worlds whose last run has failed.'),
      } satisfies Record<WorldPhase, z.ZodInt>)
      .describe('Number of worlds in each phase.'),
  })
  .meta({
    id: 'WorldCounts',
    examples: [{ total: 3, phases: { Inactive: 1, Starting: 0, Active: 2, Stopped: 0, Error: 0 } }],
  })

/** A public world in responses to other organizations: without manifest and streaming authorization. */
export const publicWorldAnswer = world
  .omit({ manifest: true })
  .extend({
    launchContext: launchContext
      .extend({ providerAStreaming: streamingA.omit({ authorizationId: true }).exactOptional() })
      .meta({ id: 'PublicLaunchContext', examples: [publicWorldExample.launchContext] }),
  })
  .meta({ id: 'PublicWorld', examples: [publicWorldExample] })

/** A scaling profile in responses. */
export const scalingProfileAnswer = z
  .object({
    name: z.enum(scalingProfileNames),
    estimatedCapacity: z.number(),
    maxBotsPerWorld: z.number(),
    resourceConfiguration: z.object({ server: z.object({ memoryLimit: z.string() }) }),
  })
  .meta({
    id: 'ScalingProfile',
    examples: [
      {
        name: 'Capacity30',
        estimatedCapacity: 30,
        maxBotsPerWorld: 30,
        resourceConfiguration: { server: { memoryLimit: '4Gi' } },
      },
    ],
  })

export type CreateWorld = z.output<typeof createWorldBody>
export type PatchWorld = z.output<typeof patchWorldBody>
export type WorldAnswer = z.output<typeof worldAnswer>
export type WorldFields = z.output<typeof sparseWorld>
export type WorldCounts = z.output<typeof worldCounts>
export type PublicWorldAnswer = z.output<typeof publicWorldAnswer>
export type Address = z.output<typeof address> & { strategy: (typeof networkingStrategies)[number] }
export type Metadata = z.output<typeof metadata>
export type Compute = z.output<typeof compute>
export type Networking = z.output<typeof networking>
export type Runtime = z.output<typeof runtime>
export type Manifest = z.output<typeof manifest>
export type Admission = z.output<typeof admissionAnswer>
export type Sessions = z.output<typeof sessions>
export type Streaming = z.output<typeof streaming>
export type LaunchContextDetails = z.output<typeof launchContextDetails>
