import { z } from '@hono/zod-openapi'
import {
  admissionPolicies,
  buildTypes,
  computeGroups,
  computeRegions,
  controlPolicies,
  deploymentStatuses,
  launchModes,
  networkingStrategies,
  worldPhases,
} from '#shared/enumerations.ts'
import { defaultScalingProfile, scalingProfileNames, scalingProfiles } from '#shared/scalingProfiles.ts'

const text = (max = 256) => z.string().max(max)
const textMap = () => z.record(z.string().min(1).max(256), text(4096))
const flag = () => z.boolean().default(false)
const pictureUrl = () => z.url({ protocol: /^https?$/ }).max(2048)

const name = () =>
  z
    .string()
    .refine((value) => [...value].length <= 64, 'must have at most 64 characters')
    .regex(/^.+\S.*$/, 'must have at least two characters, the last or a later one of them visible')
    .openapi({ minLength: 1, maxLength: 64, example: 'Lobby' })

const description = () =>
  z
    .string()
    .refine((value) => [...value].length <= 256, 'must have at most 256 characters')
    .openapi({ maxLength: 256 })

const metadata = z.strictObject({ annotations: textMap().default({}), labels: textMap().default({}) })
const compute = z.strictObject({
  group: z.enum(computeGroups).default('production'),
  region: z.enum(computeRegions).default('Europe'),
  version: text().exactOptional(),
})
const networking = z.strictObject({
  strategy: z.enum(networkingStrategies).default('Default'),
  scaling: z
    .strictObject({
      profile: z.enum(scalingProfileNames).default(defaultScalingProfile),
      configuration: z.null().default(null),
    })
    .prefault({}),
})
const build = z.union([
  z.strictObject({ channelId: text().min(1), tag: text().min(1) }),
  z.strictObject({ content: z.strictObject({ id: text().min(1) }) }),
])
const capacity = () => z.int().min(1).max(10_000)
const runtime = z.strictObject({
  build: build.exactOptional(),
  mapName: text().default(''),
  durationMinutes: z.number().gt(0).max(5_256_000).exactOptional(),
  capacity: capacity().exactOptional(),
  admissionPolicy: z.enum(admissionPolicies).exactOptional(),
})
const permissions = () => z.array(text()).max(256).default([])
const manifest = z.strictObject({ serverPermissions: permissions(), clientPermissions: permissions() })
const admission = z.strictObject({
  policy: z.enum(admissionPolicies).exactOptional(),
  capacity: capacity().exactOptional(),
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
const streaming = z.strictObject({
  providerA: z
    .strictObject({
      cmsId: text().default(''),
      authorizationId: text().default(''),
      launchMode: z.enum(launchModes).default('same-tab'),
    })
    .exactOptional(),
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
  okPageUrl: text(2048).default(''),
  errorPageUrl: text(2048).default(''),
})

/** The body of `POST /api/worlds/`; every nested field may be left out. */
export const createWorldBody = z
  .strictObject({
    name: name(),
    transient: z.boolean(),
    description: description().exactOptional(),
    pictureUrl: pictureUrl().exactOptional(),
    metadata: metadata.prefault({}),
    manifest: manifest.prefault({}),
    admission: admission.prefault({}),
    sessions: sessions.prefault({}),
    compute: compute.prefault({}),
    networking: networking.prefault({}),
    runtime: runtime.prefault({}),
    streaming: streaming.prefault({}),
  })
  .superRefine((world, context) => {
    const most = scalingProfiles[world.networking.scaling.profile].capacity
    for (const part of ['admission', 'runtime'] as const) {
      const given = world[part].capacity
      if (given === undefined || given <= most) continue
      const message = `must be at most ${most}, the capacity of ${world.networking.scaling.profile}`
      context.addIssue({ code: 'custom', path: [part, 'capacity'], message })
    }
  })
  .openapi('CreateWorld')

/** The answer of `POST /api/worlds/`. */
export const createdWorld = z.object({ worldId: z.string(), launchContextId: z.string() }).openapi('CreatedWorld')

/** The body of `PATCH /api/worlds/{worldId}/`. */
export const patchWorldBody = z
  .strictObject({ name: name().exactOptional(), description: description().exactOptional() })
  .openapi('PatchWorld')

const publicDownload = z.object({
  enabled: z.boolean(),
  enforceAntiCheat: z.boolean(),
  allowMac: z.boolean(),
  allowIos: z.boolean(),
})
const buildInfo = z.object({ buildChannelId: text(), buildTag: text(), buildType: z.enum(buildTypes) })

/** What a launch context holds beside its columns; `streaming.*` of the world lands here. */
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
    launchContextId: z.string(),
    worldId: z.string(),
    organizationId: z.string(),
    projectId: z.string(),
    name: z.string(),
    description: z.string().exactOptional(),
    pictureUrl: z.string().exactOptional(),
    isActive: z.boolean(),
    isPublic: z.boolean(),
    isWorldTravelOnly: z.boolean(),
    useWorldSessions: z.boolean(),
    permissionVerb: z.enum(['r', 'w', '*']),
  })
  .openapi('LaunchContext')

const resolvedBuild = z.object({ channelId: text(), tag: text(), organizationId: text(), id: text() })

/** A world as every answer shows it. */
export const worldAnswer = z
  .object({
    documentId: z.string(),
    organizationId: z.string(),
    projectId: z.string(),
    name: z.string(),
    description: z.string().exactOptional(),
    pictureUrl: z.string().exactOptional(),
    transient: z.boolean(),
    metadata,
    compute,
    networking,
    runtime,
    manifest,
    admission: z.object({ policy: z.enum(admissionPolicies), capacity: z.number() }),
    sessions,
    status: z.object({
      phase: z.enum(worldPhases),
      message: z.string(),
      startedAt: z.string().exactOptional(),
      resolvedBuild: resolvedBuild.exactOptional(),
      runId: z.string().exactOptional(),
    }),
    launchContext,
    queueState: z.object({ queued: z.number(), active: z.number() }),
  })
  .openapi('World')

/** One run of a world, as the history shows it. */
export const deploymentAnswer = z
  .object({
    id: z.string(),
    externalId: z.string(),
    organizationId: z.string(),
    projectId: z.string(),
    worldId: z.string(),
    runId: z.string().exactOptional(),
    createdAt: z.string(),
    status: z.enum(deploymentStatuses),
    networking: z.object({ scaling: z.object({ profile: z.string() }) }),
    compute: z.object({
      clusterName: z.string(),
      group: z.string(),
      region: z.string(),
      version: z.string().exactOptional(),
    }),
    runtime: z.object({
      build: z.object({
        channelId: z.string().exactOptional(),
        id: z.string().exactOptional(),
        content: z.object({ id: z.string() }).exactOptional(),
      }),
      mapName: z.string(),
      liveConfigUrl: z.string(),
      durationMinute: z.number().exactOptional(),
      args: z.array(z.string()),
    }),
  })
  .openapi('WorldDeployment')

/** A scaling profile as the API lists it. */
export const scalingProfileAnswer = z
  .object({
    name: z.enum(scalingProfileNames),
    estimatedCapacity: z.number(),
    maxBotsPerWorld: z.number(),
    resourceConfiguration: z.object({ server: z.object({ memoryLimit: z.string() }) }),
  })
  .openapi('ScalingProfile')

export type CreateWorld = z.output<typeof createWorldBody>
export type PatchWorld = z.output<typeof patchWorldBody>
export type WorldAnswer = z.output<typeof worldAnswer>
export type DeploymentAnswer = z.output<typeof deploymentAnswer>
export type Metadata = z.output<typeof metadata>
export type Compute = z.output<typeof compute>
export type Networking = z.output<typeof networking>
export type Runtime = z.output<typeof runtime>
export type Manifest = z.output<typeof manifest>
/** The policy and capacity of a world; admission wins over runtime, which mirrors it. */
export type Admission = WorldAnswer['admission']
export type Sessions = z.output<typeof sessions>
export type ResolvedBuild = z.output<typeof resolvedBuild>
export type LaunchContextDetails = z.output<typeof launchContextDetails>
