import * as z from 'zod'
import { idField, instant } from '#shared/domain/common.ts'
import { idleRule, idleSettings, worldIdle } from '#shared/domain/idle.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { maxPorts, portRules, routeRule, runPorts } from '#shared/domain/ports.ts'
import { queryRule, reportedFields } from '#shared/domain/query.ts'
import { nextAction, schedule, scheduleRule } from '#shared/domain/schedule.ts'
import { runtimeSettings, serverSettings, worldDefaults, worldFields } from '#shared/domain/world.ts'
import { deploymentStatuses, portProtocols, type WorldPhase, worldPhases } from '#shared/enumerations.ts'
import type { Condition, ObjectMeta } from '#shared/kube/objects.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { runEndReasons } from '#shared/why/endings.ts'
import { type Lenient, readLeniently } from './lenient.ts'
import { type Readable, withRead } from './read.ts'
import { args, grantedTo, observedFields, revision, revisionFence, userMetadata } from './schema.ts'

const runtime = z.object({
  image: worldFields.image.exactOptional(),
  contentId: worldFields.contentId.exactOptional(),
  ...runtimeSettings.shape,
  capacity: worldFields.capacity.exactOptional(),
  probes: worldFields.probes.default(true),
  args: args(worldFields.args),
})

const scaling = z.object({ profile: worldFields.profile.default(worldDefaults.profile) })

const { compute, networking: _, runtime: __, ...plainFields } = serverSettings.shape

/** The settings of a run, without those that only the operator knows, such as its default image. */
const runSettings = {
  contentId: worldFields.contentId.exactOptional(),
  profile: worldFields.profile,
  ...runtimeSettings.shape,
  capacity: z.int().min(1).describe('Maximum number of players in the world.'),
  probes: worldFields.probes,
  args: worldFields.args,
  ports: runPorts,
  ...plainFields,
}

const granted = z
  .object({
    ...grantedTo.shape,
    id: idField('run'),
    startedAt: instant().describe('Time when the run was requested. durationMinutes counts from here.'),
    image: worldFields.image.exactOptional(),
    ...runSettings,
    strategy: worldFields.strategy,
    compute,
  })
  .describe(
    'The run that the API has checked and allowed, as a whole. In the namespace of an organization the operator starts no other. Only the API writes it.',
  )

const isWithinProfile = ({
  scaling: { profile },
  runtime: { capacity = 0 },
}: z.output<typeof worldSpecSchema>): boolean => capacity <= scalingProfiles[profile].capacity

/** The desired state of a world. Defaults are part of the schema, so a parsed spec is the canonical one. */
export const worldSpecSchema = z
  .object({
    displayName: worldFields.displayName.default(''),
    description: worldFields.description.default(''),
    state: worldFields.state.default(worldDefaults.state),
    runId: idField('run')
      .exactOptional()
      .describe(
        'Identifier of the desired run. Another value starts a new run. If absent, the operator chooses one, or the API in the namespace of an organization.',
      ),
    startedAt: instant()
      .exactOptional()
      .describe('Time when the run was requested. durationMinutes counts from here. Required with runId.'),
    revision: revision(),
    transient: worldFields.transient.default(false),
    durationMinutes: worldFields.durationMinutes.exactOptional(),
    ...idleSettings,
    schedule: schedule.exactOptional(),
    nextAction: nextAction.exactOptional().describe('Next action of the schedule. Only the API writes it.'),
    scaling: scaling.prefault({}).describe('Size of the server. Changes take effect with the next run.'),
    ...serverSettings.shape,
    runtime: runtime.prefault({}).describe('Program that the server runs. Changes take effect with the next run.'),
    metadata: userMetadata,
    granted: granted.exactOptional(),
  })
  .meta({
    description: 'Desired state of the world.',
    'x-kubernetes-validations': [
      revisionFence,
      {
        rule: 'has(self.runId) == has(self.startedAt)',
        message:
          'runId and startedAt must be set together: set both, or neither so that the operator starts a run itself',
      },
      {
        rule: '!has(self.runtime.capacity) || self.runtime.capacity <= int(self.scaling.profile.substring(8))',
        message:
          'runtime.capacity must not exceed the capacity of the scaling profile, which is the number in its name: lower it, or choose a larger scaling.profile',
      },
      ...[...portRules, routeRule, queryRule, idleRule, scheduleRule].map(({ rule, message }) => ({ rule, message })),
    ],
  })

/** The specs of worlds that the API server accepts. It has no rules that compare a spec with the previous one. */
export const validWorldSpec = worldSpecSchema
  .refine(isWithinProfile, {
    path: ['runtime', 'capacity'],
    message: 'runtime.capacity must not exceed the capacity of the scaling profile',
  })
  .refine(({ runtime: { query }, networking: { ports } }) => queryRule.isKept({ query, ports }), {
    path: ['runtime', 'query'],
    message: queryRule.message,
  })
  .refine(({ idleStopMinutes, runtime }) => idleRule.isKept({ idleStopMinutes, ...runtime }), {
    path: ['idleStopMinutes'],
    message: idleRule.message,
  })
  .refine(scheduleRule.isKept, { path: ['schedule'], message: scheduleRule.message })

const deployment = z.object({
  id: z.string().max(64).describe('Identifier of the deployment: dep- and the characters of its run.'),
  externalId: z.string().max(64).describe('UID of the pod. Empty until there is a pod.'),
  status: z.enum(deploymentStatuses).describe('Status of the deployment.'),
  createdAt: instant().describe('Time when the operator began the run.'),
})

/** The words that follow the name of each phase in the description. */
const phaseMeanings: Readonly<Record<WorldPhase, string>> = {
  Inactive: ' before its first run',
  Starting: ' until its server is Ready',
  Active: '',
  Stopped: ' after a run',
  Error: ' after a run that failed',
}

const quantity = () => z.string().max(32)

/** The settings of a run, which are fixed at its start. Its pods are built from them and from its tenant. */
const capturedFields = {
  id: idField('run'),
  image: z.string().max(1024).describe('Container image of the server.'),
  ...runSettings,
  strategy: worldFields.strategy.describe(
    'Access to the public ports for players. Default means the address of the pod, without a Service.',
  ),
  resources: z
    .object({
      memoryLimit: quantity().describe('Memory limit of the server.'),
      cpuLimit: quantity().describe('CPU limit of the server.'),
      memoryRequest: quantity().describe('Memory request of the server.'),
      cpuRequest: quantity().describe('CPU request of the server.'),
    })
    .exactOptional()
    .describe('Resources of the scaling profile at the start of the run.'),
  compute: compute.unwrap().exactOptional().describe('Location that the run was requested for.'),
}

const address = z.object({
  host: z.string().max(253).describe('IP address or host name.'),
  port: z.int().min(1).max(65_535).describe('Port number for players.'),
})

const portAddress = z.object({
  name: z.string().max(15).describe('Name of the port in spec.networking.ports.'),
  protocol: z.enum(portProtocols).describe('Protocol of the port. TCPUDP means both.'),
  ...address.shape,
  url: z.string().max(300).exactOptional().describe('WebSocket URL of the port. Present with the strategy Route.'),
})

const { organizationId, projectId, worldId } = grantedTo.shape

/** The names of the settings of a run that its pods are built from. */
export const capturedRunFields = Object.keys(capturedFields) as (keyof typeof capturedFields)[]

const run = z.object({
  ...capturedFields,
  organizationId: organizationId.exactOptional(),
  projectId: projectId.exactOptional(),
  worldId: worldId.exactOptional(),
  startedAt: instant().describe('Time when the run began. durationMinutes counts from here.'),
  restarts: z
    .int()
    .min(0)
    .describe(
      'Number of failures of the server since it was last Ready for 10 minutes. They use up the restart budget.',
    ),
  disruptions: z
    .int()
    .min(0)
    .exactOptional()
    .describe(
      'Number of times that the cluster removed the server since it was last Ready for 10 minutes. They do not count as restarts.',
    ),
  countedPodUid: z
    .string()
    .max(64)
    .exactOptional()
    .describe('UID of the last lost pod that was counted in restarts or disruptions.'),
  failedAt: instant()
    .exactOptional()
    .describe('Time when the operator detected the loss of that pod. The backoff counts from here.'),
  failure: z
    .object({
      reason: z.string().max(128).describe('Reason as one CamelCase word.'),
      message: z.string().max(2048).describe('Details for people.'),
    })
    .exactOptional()
    .describe('Last failure of the server: it was lost, or was not Ready in time. Removed when a server is Ready.'),
  readyAt: instant().exactOptional().describe('Time when the server last became Ready.'),
  readyPodUid: z.string().max(64).exactOptional().describe('UID of the pod that became Ready at readyAt.'),
  exitCode: z
    .int()
    .exactOptional()
    .describe('Exit code of the server that ended last. Absent if it was lost without one.'),
  endedAt: instant().exactOptional().describe('Time when the run ended. Absent while it is active.'),
  endReason: z
    .enum(runEndReasons)
    .exactOptional()
    .describe(
      'Reason for the end: Stopped by a user, Expired after durationMinutes, Idle after idleStopMinutes without players, Completed with exit code 0, StartDeadline if the server was not Ready in time, RestartBudget after too many failures.',
    ),
  endMessage: z.string().max(4096).exactOptional().describe('Details of the end for people.'),
  dismissed: z
    .boolean()
    .exactOptional()
    .describe('True if state was Stopped after the run had ended by itself. The next Running begins another run.'),
})

/** The observed state of a world. The operator alone writes it. */
export const worldStatusSchema = z
  .object({
    phase: z
      .enum(worldPhases)
      .exactOptional()
      .describe(
        `Phase of the world: ${Object.entries(phaseMeanings)
          .map(([phase, meaning]) => `${phase}${meaning}`)
          .join(', ')}.`,
      ),
    message: observedFields.message,
    worldId: observedFields.worldId,
    runId: idField('run').exactOptional().describe('Identifier of the run that phase and message describe.'),
    startedAt: instant().exactOptional().describe('Time when that run began.'),
    observedGeneration: observedFields.observedGeneration,
    observedRevision: observedFields.observedRevision,
    address: address
      .exactOptional()
      .describe('Address of the first public port. Absent while there is no server with an address.'),
    addresses: z
      .array(portAddress)
      .max(maxPorts)
      .exactOptional()
      .describe('Addresses of the public ports, in their order. Absent while there is no server with an address.'),
    nodeName: z.string().max(253).exactOptional().describe('Name of the node that the server runs on.'),
    queue: z
      .object({
        queued: z.int().min(0).describe('Number of players who wait to enter.'),
        active: z.int().min(0).describe('Number of players in the world.'),
        ...reportedFields,
      })
      .exactOptional()
      .describe('Players as the server last reported them. Absent while they are unknown.'),
    idle: worldIdle.exactOptional(),
    run: run.exactOptional().describe('State of the current or last run, with its settings as they were at the start.'),
    deployment: deployment.exactOptional().describe('Deployment of the run.'),
    previousDeployment: deployment.exactOptional().describe('Deployment of the run before, with its final status.'),
    conditions: observedFields.conditions,
  })
  .describe('Observed state of the world. The operator writes it.')

export type WorldSpec = z.output<typeof worldSpecSchema>
/** A spec as a user can write it: fields with a default are optional. */
export type WorldSpecInput = z.input<typeof worldSpecSchema>
export type WorldStatus = Omit<z.output<typeof worldStatusSchema>, 'conditions'> & { conditions?: Condition[] }
export type WorldRun = z.output<typeof run>
/** The run that the API allows a World, with the resource that it is for. */
export type GrantedRun = z.output<typeof granted>
/** The part of a grant that the API captures at a start. The rest follows from the row. */
export type CapturedRun = Omit<GrantedRun, keyof z.output<typeof grantedTo>>
/** The address of a public port. */
export type WorldAddress = z.output<typeof portAddress>
export type WorldQueue = NonNullable<WorldStatus['queue']>
export type WorldDeploymentStatus = z.output<typeof deployment>

/** A World as the API server returns it. The API server fills in the defaults of this schema. */
export type World = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: WorldSpec
  status?: WorldStatus
}

/** Reports whether the operator has observed the deletion and no server is left, so that the finalizer can be removed. */
export const isDrained = (world: World): boolean =>
  world.metadata.deletionTimestamp !== undefined &&
  world.status?.observedGeneration === world.metadata.generation &&
  (world.status?.deployment === undefined || hasEnded(world.status.deployment))

/** Reads the spec of a World. It never throws. */
export const readWorldSpec = (spec: unknown): Lenient<WorldSpec> => readLeniently(worldSpecSchema, spec ?? {}, {})

/** Reads a live World. It never throws. */
export const readWorld = (live: World): Readable<World> =>
  withRead(live, readWorldSpec(live.spec), (status) => readLeniently(worldStatusSchema, status, {}))
