import * as z from 'zod'
import { botDefaults, botFields } from '#shared/domain/bots.ts'
import { idField, instant } from '#shared/domain/common.ts'
import { botPhases } from '#shared/enumerations.ts'
import { namePatterns } from '#shared/kube/names.ts'
import type { Condition, ObjectMeta } from '#shared/kube/objects.ts'
import { type Lenient, readLeniently } from './lenient.ts'
import { type Readable, withRead } from './read.ts'
import { args, grantedTo, observedFields, revision, revisionFence, userMetadata } from './schema.ts'

/** Returns the rule of the API server for a quantity above 0: with the pattern, such a quantity has a digit above 0. */
const aboveZero = (field: string) => ({
  'x-kubernetes-validations': [{ rule: "self.matches('[1-9]')", message: `${field} must be above 0` }],
})

const granted = z
  .object({
    ...grantedTo.shape,
    botDeploymentId: idField('bot'),
    count: botFields.count,
    cpu: botFields.cpu,
    memory: botFields.memory,
    args: botFields.args,
  })
  .describe(
    'The bots that the API has checked and allowed. In the namespace of an organization the operator runs at most count of them, of this size. Only the API writes it.',
  )

/** The desired state of a bot deployment: `count` bots that belong to the run of one world. */
export const botDeploymentSpecSchema = z
  .object({
    worldName: z
      .string()
      .max(63)
      .regex(new RegExp(namePatterns.object))
      .describe('Name of the World that the bots enter. It is in the same namespace.'),
    description: botFields.description.default(''),
    count: botFields.count.describe('Desired number of bots. kubectl scale changes this field.'),
    cpu: botFields.cpu.default(botDefaults.cpu).meta(aboveZero('cpu')),
    memory: botFields.memory.default(botDefaults.memory).meta(aboveZero('memory')),
    args: args(botFields.args),
    durationMinutes: botFields.durationMinutes.exactOptional(),
    revision: revision(),
    metadata: userMetadata,
    granted: granted.exactOptional(),
  })
  .meta({
    description: 'Desired state of the bot deployment.',
    'x-kubernetes-validations': [
      revisionFence,
      {
        rule: 'self.worldName == oldSelf.worldName',
        message: 'spec.worldName is immutable: create another BotDeployment for the other world',
      },
    ],
  })

/** The reasons for which the bots of a run end: their duration is over, or the run of their world. */
export const botRunEndReasons = ['Expired', 'WorldEnded'] as const

/** Indexes in the short form of a Job's `status.completedIndexes`, such as `0-3,7`. */
const indexes = () => z.string().max(65_536)

const run = z.object({
  id: idField('run').describe('Identifier of the run of the world that the bots belong to.'),
  startedAt: instant().describe('Time when the bots were started in this run. durationMinutes counts from here.'),
  completedIndexes: indexes()
    .exactOptional()
    .describe('Indexes of the bots that exited with code 0, such as 0-3,7. They are not restarted.'),
  failedIndexes: indexes()
    .exactOptional()
    .describe('Indexes of the bots that used up their restarts, such as 0-3,7. They are not restarted.'),
  restarting: z
    .array(
      z.object({
        indexes: indexes().describe('Indexes of the bots, such as 0-3,7.'),
        restarts: z.int().min(1).describe('Number of the restart that is pending, starting at 1.'),
        after: instant().describe('Earliest time of the restart.'),
      }),
    )
    .max(10_000)
    .exactOptional()
    .describe('Bots that failed and are waiting for their next restart.'),
  failure: z.string().max(2048).exactOptional().describe('Description of the most recent failure of a bot.'),
  endedAt: instant().exactOptional().describe('Time when the bots of this run ended.'),
  endReason: z
    .enum(botRunEndReasons)
    .exactOptional()
    .describe('Reason for the end: Expired after durationMinutes, or WorldEnded with the run of the world.'),
})

/** The observed state of a bot deployment. */
export const botDeploymentStatusSchema = z
  .object({
    phase: z
      .enum(botPhases)
      .exactOptional()
      .describe('Phase of the bot deployment. It is Pending until the world is Active and has room for the bots.'),
    message: observedFields.message,
    worldId: observedFields.worldId,
    startedAt: instant().exactOptional().describe('Time when the bots of the current run were started.'),
    observedGeneration: observedFields.observedGeneration,
    observedRevision: observedFields.observedRevision,
    replicas: z.int().min(0).exactOptional().describe('Number of bots that exist, including those that are stopping.'),
    ready: z.int().min(0).exactOptional().describe('Number of bots that are Ready.'),
    run: run.exactOptional().describe('State of the bots in the current run of their world.'),
    selector: z.string().max(512).exactOptional().describe('Label selector of the bots, which kubectl scale reads.'),
    conditions: observedFields.conditions,
  })
  .describe('Observed state of the bot deployment. The operator writes it.')

export type BotDeploymentSpec = z.output<typeof botDeploymentSpecSchema>
export type BotDeploymentStatus = Omit<z.output<typeof botDeploymentStatusSchema>, 'conditions'> & {
  conditions?: Condition[]
}

/** The bots of one run of a world, as `status.run` records them. */
export type BotRun = z.output<typeof run>

/** Reports whether the operator has observed the deletion and no bot is left, so that the finalizer can be removed. */
export const isBotsDrained = ({ metadata, status }: BotDeployment): boolean =>
  metadata.deletionTimestamp !== undefined &&
  status?.observedGeneration === metadata.generation &&
  status?.phase === 'Stopped'

/** A BotDeployment as the API server returns it. The API server fills in the defaults of this schema. */
export type BotDeployment = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: BotDeploymentSpec
  status?: BotDeploymentStatus
}

/** Reads the spec of a BotDeployment. It never throws. */
export const readBotSpec = (spec: unknown): Lenient<BotDeploymentSpec> =>
  readLeniently(botDeploymentSpecSchema, spec ?? {}, { worldName: 'unknown', count: 0 })

/** Reads a live BotDeployment. It never throws. */
export const readBots = (live: BotDeployment): Readable<BotDeployment> =>
  withRead(live, readBotSpec(live.spec), (status) => readLeniently(botDeploymentStatusSchema, status, {}))
