import { z } from 'zod'
import {
  computeGroups,
  computeRegions,
  deploymentStatuses,
  networkingStrategies,
  worldPhases,
  worldStates,
} from '#shared/enumerations.ts'
import { idPattern } from '#shared/ids.ts'
import type { Condition, ObjectMeta } from '#shared/kube/objects.ts'
import { defaultScalingProfile, scalingProfileNames } from '#shared/scalingProfiles.ts'
import { codePoints, conditions, instant, revision, revisionFence, userMetadata } from './schema.ts'

const runId = () => z.string().regex(new RegExp(idPattern('run')))

const compute = z.object({
  group: z.enum(computeGroups).default('production').describe('The kind of capacity to run on.'),
  region: z.enum(computeRegions).default('Europe').describe('Where to run.'),
})

const runtime = z.object({
  image: z.string().min(1).max(1024).exactOptional().describe("The server's image; left out, the operator's default."),
  contentId: z.string().max(256).exactOptional().describe('The content that the image holds.'),
  mapName: z.string().max(256).default('').describe('The map that the server loads.'),
  capacity: z
    .int()
    .min(1)
    .max(10_000)
    .exactOptional()
    .describe("How many may be in the world; left out, the profile's."),
  probes: z
    .boolean()
    .default(true)
    .describe('Whether the image answers /readyz and /healthz on 8080; if not, a started container is ready.'),
  args: z.array(z.string().max(4096)).max(64).default([]).describe("Arguments for the image's entry point."),
})

/** What is wanted of a world. Defaults are part of the schema, so a parsed spec is the canonical one. */
export const worldSpecSchema = z
  .object({
    displayName: codePoints(64).default('').describe('The name that people see.'),
    description: codePoints(256).default('').describe('What the world is for.'),
    state: z.enum(worldStates).default('Stopped').describe('Running starts a run, Stopped ends it.'),
    runId: runId().exactOptional().describe('The run that is wanted; another value is another run.'),
    startedAt: instant().exactOptional().describe('When the run was asked for; its duration counts from here.'),
    revision: revision(),
    transient: z.boolean().default(false).describe('Whether the world is deleted after its duration, once stopped.'),
    durationMinutes: z.number().gt(0).exactOptional().describe('How long a run may last, in minutes.'),
    scaling: z
      .object({
        profile: z.enum(scalingProfileNames).default(defaultScalingProfile).describe('The size of the server.'),
      })
      .prefault({})
      .describe('How large the world is. Edits take effect at the next run.'),
    compute: compute.prefault({}).describe('Where the world runs. Edits take effect at the next run.'),
    networking: z
      .object({
        strategy: z
          .enum(networkingStrategies)
          .default('Default')
          .describe("How players reach the game port; Default is the operator's setting."),
      })
      .prefault({})
      .describe('How the world is reached. Edits take effect at the next run.'),
    runtime: runtime.prefault({}).describe('What the server runs. Edits take effect at the next run.'),
    metadata: userMetadata.prefault({}).describe("The owner's own annotations and labels."),
  })
  .meta({
    description: 'What is wanted.',
    'x-kubernetes-validations': [
      revisionFence,
      {
        rule: 'has(self.runId) == has(self.startedAt)',
        message: 'runId and startedAt are given together; leave both out and the operator makes a run of its own',
      },
      {
        rule: '!has(self.runtime.capacity) || self.runtime.capacity <= int(self.scaling.profile.substring(8))',
        message:
          'runtime.capacity is at most what the profile holds, the number in its name: lower it, or take a larger scaling.profile',
      },
    ],
  })

const deployment = z.object({
  id: z.string().max(64).describe('The id of the deployment; it has the characters of its run.'),
  externalId: z.string().max(64).describe('The uid of the pod; empty until there is one.'),
  status: z.enum(deploymentStatuses).describe('Where the deployment is in its life.'),
  createdAt: instant().describe('When the run was taken up.'),
})

/** Why a run is over. */
export const runEndReasons = ['Stopped', 'Expired', 'Completed', 'StartDeadline', 'RestartBudget'] as const

const run = z.object({
  id: runId().describe('The id of the run.'),
  startedAt: instant().describe('When the run began; its duration counts from here.'),
  image: z.string().max(1024).describe('The image that the server runs.'),
  contentId: z.string().max(256).exactOptional().describe('The content that the image holds.'),
  profile: z.enum(scalingProfileNames).describe('The size of the server.'),
  mapName: z.string().max(256).describe('The map that the server loads.'),
  capacity: z.int().min(1).describe('How many may be in the world.'),
  probes: z.boolean().describe('Whether the image is probed.'),
  args: z.array(z.string().max(4096)).max(64).describe("Arguments for the image's entry point."),
  strategy: z
    .enum(networkingStrategies)
    .describe(
      'How players reach the game port, as it was resolved; Default is the address of the pod, without a service.',
    ),
  resources: z
    .object({
      memoryLimit: z.string().max(32).describe('The memory limit of the server.'),
      cpuLimit: z.string().max(32).describe('The CPU limit of the server.'),
      memoryRequest: z.string().max(32).describe('The memory that the server requests.'),
      cpuRequest: z.string().max(32).describe('The CPU that the server requests.'),
    })
    .exactOptional()
    .describe('What the profile stood for at the start.'),
  compute: compute.exactOptional().describe('Where the run was asked to be.'),
  restarts: z.int().min(0).describe('How often the server failed since it was last Ready for long.'),
  disruptions: z
    .int()
    .min(0)
    .exactOptional()
    .describe('How often the cluster took the server away since it was last Ready for long; it costs no restart.'),
  countedPodUid: z.string().max(64).exactOptional().describe('The last lost pod that restarts or disruptions counts.'),
  failedAt: instant().exactOptional().describe('When that pod was seen to be lost; the backoff counts from here.'),
  failure: z
    .object({
      reason: z.string().max(128).describe('Why, as one CamelCase word for programs.'),
      message: z.string().max(2048).describe('Why, as a sentence for people.'),
    })
    .exactOptional()
    .describe('Why the server was lost, or was not ready in time; it goes once a server is ready.'),
  readyAt: instant().exactOptional().describe('When the server last became Ready.'),
  readyPodUid: z.string().max(64).exactOptional().describe('The pod that was Ready then.'),
  endedAt: instant().exactOptional().describe('When the run ended.'),
  endReason: z.enum(runEndReasons).exactOptional().describe('Why the run ended, for programs.'),
  endMessage: z.string().max(4096).exactOptional().describe('Why the run ended, for people.'),
})

/** What is seen of a world; written by the operator alone, but for the condition Synced, which is the API's. */
export const worldStatusSchema = z
  .object({
    phase: z.enum(worldPhases).exactOptional().describe('Where the world is in its life.'),
    message: z.string().max(4096).exactOptional().describe('What is being waited for, or what went wrong.'),
    runId: runId().exactOptional().describe('The run that phase and message are about.'),
    startedAt: instant().exactOptional().describe('When that run began.'),
    observedGeneration: z.int().min(0).exactOptional().describe('The generation that this status is about.'),
    observedRevision: z.int().min(0).exactOptional().describe('The spec.revision that this status is about.'),
    address: z
      .object({
        host: z.string().max(253).describe('An address or a name.'),
        port: z.int().min(1).max(65_535).describe('The game port there, TCP and UDP.'),
      })
      .exactOptional()
      .describe('Where the game port of the server is.'),
    nodeName: z.string().max(253).exactOptional().describe('The node that the server runs on.'),
    queue: z
      .object({
        queued: z.int().min(0).describe('How many wait to enter.'),
        active: z.int().min(0).describe('How many are inside.'),
      })
      .exactOptional()
      .describe('What the server last reported.'),
    run: run.exactOptional().describe('The run as it was frozen at its start; its pods are built from this alone.'),
    deployment: deployment.exactOptional().describe('The deployment of the run.'),
    previousDeployment: deployment.exactOptional().describe('The deployment before it, as it ended.'),
    conditions: conditions.exactOptional(),
  })
  .describe('What is seen.')

export type WorldSpec = z.output<typeof worldSpecSchema>
/** A spec as a user may write it: every field with a default may be left out. */
export type WorldSpecInput = z.input<typeof worldSpecSchema>
export type WorldStatus = Omit<z.output<typeof worldStatusSchema>, 'conditions'> & { conditions?: Condition[] }
export type WorldRun = z.output<typeof run>
export type WorldQueue = NonNullable<WorldStatus['queue']>
export type WorldDeploymentStatus = z.output<typeof deployment>
export type RunEndReason = (typeof runEndReasons)[number]

/** A World as the API server returns it; defaults are filled in by the API server from the same schema. */
export type World = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: WorldSpec
  status?: WorldStatus
}

/** Whether the operator has seen the deletion and no server of the world is left: the finalizer may go. */
export const isDrained = (world: World): boolean =>
  world.metadata.deletionTimestamp !== undefined &&
  world.status?.observedGeneration === world.metadata.generation &&
  (world.status?.deployment === undefined ||
    world.status.deployment.status === 'Stopped' ||
    world.status.deployment.status === 'Error')
