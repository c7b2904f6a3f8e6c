import * as z from 'zod'
import { buildReference, resolvedBuild } from '#api/domain/builds/schema.ts'
import { conditionAnswer } from '#api/domain/events/conditions.ts'
import {
  boundedText,
  linkText,
  shownDescription,
  shownId,
  shownInstant,
  shownName,
  shownPicture,
  shownVerb,
  uriOrEmpty,
} from '#api/platform/http/fields.ts'
import { maxManifestBytes, metadataFields, withinJsonBytes, withinMetadataLimit } from '#shared/domain/common.ts'
import { idleSettings, worldIdle } from '#shared/domain/idle.ts'
import { checkRoute, maxPorts, requestedPorts } from '#shared/domain/ports.ts'
import { reportedFields, requestedQuery } from '#shared/domain/query.ts'
import { nextAction, requestedSchedule } from '#shared/domain/schedule.ts'
import { runtimeSettings, serverSettings, worldDefaults, worldFields } from '#shared/domain/world.ts'
import {
  admissionPolicies,
  buildTypes,
  controlPolicies,
  launchModes,
  networkingStrategies,
  portProtocols,
  type WorldPhase,
  worldPhases,
} from '#shared/enumerations.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'
import { createWorldExample, patchWorldExample, publicWorldExample, worldExample } from './examples.ts'

// A create sets all defaults. A PATCH replaces an object as a whole: the fields that it must have are required, and its
// other absent fields get their defaults.
const text = (max = 256) => boundedText(max)
const label = (description: string) => text().default('').describe(description)
const link = (description: string) => linkText().default('').describe(description)
const flag = (description: string) => z.boolean().default(false).describe(description)

const name = () =>
  worldFields.displayName
    // Matches the same texts as ^.+\S.*$ without its quadratic backtracking. The classes stand for `.`, which other dialects of
    // regular expressions read in another way.
    .regex(
      /^[^\n\r\u2028\u2029][^\S\n\r\u2028\u2029]*\S[^\n\r\u2028\u2029]*$/u,
      'must have at least two characters, and a visible one after the first',
    )
    .meta({ minLength: 1, maxLength: 64, examples: [createWorldExample.name] })

/** The texts of the parts of a world that have another form in a PATCH or a response than in a create. */
const texts = {
  metadata: 'Annotations and labels of the owner.',
  compute: 'The location of the server.',
  networking: 'Network access and size of the server.',
  scaling: 'Size of the server.',
  runtime: 'Build and settings of the server.',
  manifest: 'Permissions in the world.',
  admission: 'Rules for entering the world, and the number of users.',
  providerA: 'Settings of the streaming provider A.',
}
const { annotations, labels } = metadataFields
/** The owner's annotations and labels. */
export const metadata = withinMetadataLimit(
  z.strictObject({ annotations: annotations.default({}), labels: labels.default({}) }),
).describe(texts.metadata)
/** The owner's annotations and labels in a PATCH, which must have both. */
export const patchMetadata = withinMetadataLimit(z.strictObject(metadataFields)).describe(texts.metadata)

const { group, region, strategy, profile, capacity } = worldFields
const compute = z
  .strictObject({
    ...serverSettings.shape.compute.unwrap().shape,
    version: text().exactOptional().describe('Version of the compute. Orrery stores it and does not interpret it.'),
  })
  .describe(texts.compute)
const configuration = z.null().default(null).describe('Always null.')
const networking = z
  .strictObject({
    ...serverSettings.shape.networking.unwrap().shape,
    ports: requestedPorts,
    scaling: z
      .strictObject({ profile: profile.default(worldDefaults.profile), configuration })
      .prefault({})
      .describe(texts.scaling),
  })
  .superRefine(checkRoute)
  .describe(texts.networking)
const policy = z.enum(admissionPolicies).describe('Open lets users in, Queued lets them wait, Closed refuses them.')
const runtime = z
  .strictObject({
    build: buildReference
      .exactOptional()
      .describe('The build to run: a channel and tag, or a content. Without one the default image runs.'),
    ...runtimeSettings.shape,
    query: requestedQuery.exactOptional(),
    durationMinutes: worldFields.durationMinutes.exactOptional(),
    ...idleSettings,
    schedule: requestedSchedule.exactOptional(),
    capacity: capacity.exactOptional(),
    admissionPolicy: policy.exactOptional().describe('Copy of `admission.policy`.'),
  })
  .describe(texts.runtime)
const permissions = z.array(text()).max(256)
const serverPermissions = permissions.describe('Permissions that the server gets.')
const clientPermissions = permissions.describe('Permissions that clients of the world get.')
const manifest = withinJsonBytes(
  maxManifestBytes,
  z.strictObject({
    serverPermissions: serverPermissions.default([]),
    clientPermissions: clientPermissions.default([]),
  }),
).describe(texts.manifest)
const admission = z
  .strictObject({ policy: policy.exactOptional(), capacity: capacity.exactOptional() })
  .describe(texts.admission)
const sessions = z
  .strictObject({
    controlPolicy: z
      .enum(controlPolicies)
      .default('Unlimited')
      .describe('Limit on concurrent sessions of a user or an organization.'),
    streamingTicketPredicate: text(1024).default('').describe('Expression that a streaming ticket must satisfy.'),
    flags: z
      .strictObject({
        ignoreExpiry: flag('True if sessions do not expire.'),
        ignoreSlotRenewalErrors: flag('True if errors at the renewal of a slot are ignored.'),
        ignoreParentMissing: flag('True if a session continues without its parent.'),
        useImmediateMode: flag('True if sessions begin without waiting.'),
      })
      .prefault({})
      .describe('Flags for sessions. All are false by default.'),
    forceTravelWorldId: label('World to which every user is sent. Empty for none.'),
  })
  .describe('Rules for sessions of users. Only a create sets them.')
const streamingA = z
  .strictObject({
    cmsId: label('Identifier of the content at the provider.'),
    authorizationId: label('Identifier of the authorization at the provider.'),
    launchMode: z.enum(launchModes).default('same-tab').describe('Way to open the streamed client.'),
  })
  .describe(texts.providerA)
const streaming = z
  .strictObject({
    providerA: streamingA.exactOptional(),
    streamManager: z
      .strictObject({
        streamContextId: label('Identifier of the stream context.'),
        allowForceProvider: flag('True if a link may choose the streaming provider.'),
        showProviderOptions: flag('True if users can choose the streaming provider.'),
        useBuildVersion: flag('True if the stream uses the version of the build.'),
      })
      .exactOptional()
      .describe('Settings of the stream manager.'),
    providerB: z
      .strictObject({
        gameLabel: label('Label of the game at the provider.'),
        gameChannel: label('Channel of the game at the provider.'),
      })
      .exactOptional()
      .describe('Settings of the streaming provider B.'),
    bypassBrowserRestrictions: flag('True if browsers that are not supported may enter.'),
    okPageUrl: link('URL to which a successful session leads at its end.'),
    errorPageUrl: link('URL to which a failed entry leads.'),
  })
  .describe('Settings for streamed clients. They are stored in the launch context.')
const pictureUrl = uriOrEmpty().exactOptional().describe('Absolute URI of the picture. An empty string removes it.')
const isPublicText = 'True if every caller sees the world while it is Active.'

/** The body of `POST /api/worlds/`. All nested fields are optional. */
export const createWorldBody = z
  .strictObject({
    name: name(),
    transient: worldFields.transient,
    description: worldFields.description.exactOptional(),
    pictureUrl,
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

const publicDownload = z
  .strictObject({
    enabled: z.boolean().describe('True if the client can be downloaded.'),
    enforceAntiCheat: z.boolean().describe('True if the downloaded client must use the anti-cheat.'),
    allowMac: z.boolean().describe('True if the client can be downloaded for macOS.'),
    allowIos: z.boolean().describe('True if the client can be downloaded for iOS.'),
  })
  .describe('Availability of the client for download, by platform.')

/** The body of `PATCH /api/worlds/{worldId}/`. Absent fields stay; an object replaces the previous one as a whole. */
export const patchWorldBody = z
  .strictObject({
    name: name().exactOptional(),
    description: worldFields.description.exactOptional(),
    pictureUrl,
    isPublic: z.boolean().exactOptional().describe(isPublicText),
    metadata: patchMetadata.exactOptional(),
    manifest: withinJsonBytes(maxManifestBytes, z.strictObject({ serverPermissions, clientPermissions }))
      .exactOptional()
      .describe(texts.manifest),
    admission: admission.required({ policy: true }).exactOptional().describe(texts.admission),
    compute: compute.extend({ group, region }).exactOptional().describe(texts.compute),
    networking: z
      .strictObject({
        strategy,
        ports: requestedPorts,
        scaling: z.strictObject({ profile, configuration }).describe(texts.scaling),
      })
      .superRefine(checkRoute)
      .exactOptional()
      .describe(texts.networking),
    runtime: runtime.exactOptional(),
    streaming: streaming.exactOptional(),
    publicDownload: publicDownload.exactOptional(),
  })
  .meta({ id: 'PatchWorld', examples: [patchWorldExample] })

// Generated clients for Go have a type Client, which a constant of that name would collide with.
const buildType = z
  .enum(buildTypes)
  .meta({ description: 'Kind of build.', 'x-enum-varnames': ['ClientBuild', 'ServerBuild'] })
const buildInfo = z
  .object({
    buildChannelId: text().describe('Channel of the build.'),
    buildTag: text().describe('Tag of the build.'),
    buildType,
  })
  .describe('Copy of the channel and tag of the build.')
const users = z.number().describe('Maximum number of users in the world.')

/** The JSON part of a launch context's row. It contains the fields of the world's `streaming`. */
const launchContextDetails = z.object({
  publicDownload,
  errorPageUrl: z.string().describe('URL to which a failed entry leads.'),
  okPageUrl: z.string().describe('URL to which a successful session leads at its end.'),
  providerAStreaming: streaming.shape.providerA,
  providerBStreaming: streaming.shape.providerB,
  streamManager: streaming.shape.streamManager,
  bypassBrowserRestrictions: z.boolean().describe('True if browsers that are not supported may enter.'),
  enableQueue: z.boolean().describe('True if `admission.policy` is Queued.'),
  capacity: users,
  buildInfo: buildInfo.exactOptional(),
})

const launchContextText = 'Settings for entering the world.'
const launchContext = launchContextDetails
  .extend({
    launchContextId: shownId('launchContext'),
    worldId: shownId('world'),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    name: shownName,
    description: shownDescription,
    splashScreenUrl: z.string().describe('URL of the splash screen. Always empty.'),
    pictureUrl: shownPicture,
    isActive: z.boolean().describe('False if the entry is switched off.'),
    isPublic: z.boolean().describe(isPublicText),
    isWorldTravelOnly: z.boolean().describe('True if users enter from other worlds only.'),
    useWorldSessions: z.boolean().describe('True if entries create sessions of the world.'),
    permissionVerb: shownVerb,
  })
  .meta({ id: 'LaunchContext', examples: [worldExample.launchContext] })

/** The number of users that wait to enter a world, and that are in it. */
export const queueState = z
  .object({
    queued: z.number().describe('Number of users who wait to enter; 0 while it is unknown.'),
    active: z.number().describe('Number of users in the world; 0 while it is unknown.'),
    ...reportedFields,
  })
  .describe('Users in the world and in its queue, as its server last reported.')
/** The policy and capacity of a world in responses. `runtime` contains a copy of both. */
export const admissionAnswer = z.object({ policy, capacity: users }).describe(texts.admission)
/** The reason for the phase in responses. */
export const statusMessage = z.string().describe('Reason for waiting or failing. Empty if nothing needs attention.')

const address = z.object({
  host: z.string().describe('IP address or host name.'),
  port: z.int().describe('Port number.'),
})
const addresses = z
  .array(
    z
      .object({
        name: z.string().describe('Name of the port in `networking.ports`.'),
        protocol: z.enum(portProtocols).describe('Protocol of the port. TCPUDP means both.'),
        ...address.shape,
        url: z.string().exactOptional().describe('WebSocket URL of the port. Present with the strategy `Route`.'),
      })
      .meta({ title: 'PortAddress' }),
  )
  .max(maxPorts)
/** The address of a server in responses. */
export const addressFields = {
  address: address
    .exactOptional()
    .describe('Address of the first public port for players. Absent while no server can be reached.'),
  addresses: addresses
    .exactOptional()
    .describe('Addresses of all public ports, in their order. Absent while no server can be reached.'),
  strategy: z
    .enum(networkingStrategies)
    .exactOptional()
    .describe('Networking strategy of the run. Default means the address of the pod.'),
}

/** The times of creation and change in responses. */
export const timestampFields = {
  createdAt: shownInstant('Time of the creation.'),
  updatedAt: shownInstant('Time of the last change of the desired state.'),
}
const statusText = 'Observed state.'
const status = z.object({
  phase: z.enum(worldPhases).describe('Phase of the lifecycle.'),
  message: statusMessage,
  startedAt: shownInstant('Time when the run was requested. Its duration counts from here.').exactOptional(),
  resolvedBuild: resolvedBuild.exactOptional().describe('The build of the run, fixed at its start.'),
  runId: shownId('run').exactOptional(),
  ...addressFields,
  idle: worldIdle.exactOptional(),
  nextAction: nextAction.exactOptional(),
  conditions: z.array(conditionAnswer).describe('Conditions of the world. Empty until the operator has reported.'),
})
const world = z.object({
  documentId: shownId('world'),
  organizationId: shownId('organization'),
  projectId: shownId('project'),
  name: shownName,
  description: shownDescription,
  pictureUrl: shownPicture,
  transient: worldFields.transient,
  metadata,
  compute,
  networking,
  runtime,
  manifest,
  admission: admissionAnswer,
  sessions,
  status: status.describe(statusText),
  launchContext: launchContext.describe(launchContextText),
  queueState,
  ...timestampFields,
})

/** A world in responses to its organization. */
export const worldAnswer = world.meta({ id: 'World', examples: [worldExample] })

const shown = worldExample.status

/** The state of a world after a wake. */
export const wokenWorld = z
  .object({ phase: z.enum(worldPhases).describe('Phase of the lifecycle.'), ...addressFields })
  .meta({
    id: 'WokenWorld',
    examples: [{ phase: shown.phase, address: shown.address, addresses: shown.addresses, strategy: shown.strategy }],
  })

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

/**
 * A public world in responses to other organizations: without manifest, internal ports, query, sleep, schedule and streaming
 * authorization.
 */
export const publicWorldAnswer = world
  .omit({ manifest: true })
  .extend({
    runtime: runtime
      .omit({ query: true, idleStopMinutes: true, wakeOnAccess: true, schedule: true })
      .describe(texts.runtime),
    status: status.omit({ idle: true, nextAction: true }).describe(statusText),
    launchContext: launchContext
      .extend({
        providerAStreaming: streamingA.omit({ authorizationId: true }).exactOptional().describe(texts.providerA),
      })
      .meta({ id: 'PublicLaunchContext', examples: [publicWorldExample.launchContext] })
      .describe(launchContextText),
  })
  .meta({ id: 'PublicWorld', examples: [publicWorldExample] })

/** A scaling profile in responses. */
export const scalingProfileAnswer = z
  .object({
    name: z.enum(scalingProfileNames).describe('Name of the profile.'),
    estimatedCapacity: z.number().describe('Number of users that the profile is designed for.'),
    maxBotsPerWorld: z.number().describe('Maximum number of bots in the world.'),
    resourceConfiguration: z
      .object({
        server: z
          .object({ memoryLimit: z.string().describe('Memory limit of the server.') })
          .describe('Resources of the server.'),
      })
      .describe('Resources of the profile.'),
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
export type WokenWorld = z.output<typeof wokenWorld>
export type WorldFields = z.output<typeof sparseWorld>
export type WorldCounts = z.output<typeof worldCounts>
export type PublicWorldAnswer = z.output<typeof publicWorldAnswer>
/** The addresses of a server, of which there is at least one, with the networking strategy of its run. */
export type Reach = { addresses: z.output<typeof addresses>; strategy: (typeof networkingStrategies)[number] }
export type Metadata = z.output<typeof metadata>
export type Compute = z.output<typeof compute>
export type Networking = z.output<typeof networking>
export type Runtime = z.output<typeof runtime>
export type Manifest = z.output<typeof manifest>
export type Admission = z.output<typeof admissionAnswer>
export type Sessions = z.output<typeof sessions>
export type Streaming = z.output<typeof streaming>
export type LaunchContextDetails = z.output<typeof launchContextDetails>
