import { z } from 'zod'
import { botPhases } from '#shared/enumerations.ts'
import { idPattern } from '#shared/ids.ts'
import type { Condition, ObjectMeta } from '#shared/kube/objects.ts'
import { codePoints, conditions, instant, revision, revisionFence, userMetadata } from './schema.ts'

/** A CPU quantity as the REST contract writes it. */
export const cpuPattern = /^\d+(m|\.\d\d?\d?)?$/
/** A memory quantity as the REST contract writes it. */
export const memoryPattern = /^\d+(\.\d+)?(m|k|Ki|M|Mi|G|Gi)?$/

/** What is wanted of a bot deployment: `count` bots that belong to the run of one world. */
export const botDeploymentSpecSchema = z
  .object({
    worldName: z.string().min(1).max(253).describe('The name of the World in the same namespace that the bots enter.'),
    description: codePoints(2048).default('').describe('What the bots are for.'),
    count: z.int().min(0).max(10_000).describe('How many bots are wanted; kubectl scale changes it.'),
    cpu: z.string().regex(cpuPattern).max(32).default('100m').describe('The CPU limit of one bot.'),
    memory: z.string().regex(memoryPattern).max(32).default('128Mi').describe('The memory limit of one bot.'),
    args: z.array(z.string().max(4096)).max(64).default([]).describe("Arguments for the image's entry point."),
    durationMinutes: z.number().gt(0).exactOptional().describe('How long the bots run, in minutes.'),
    revision: revision(),
    metadata: userMetadata.prefault({}).describe("The owner's own annotations and labels."),
  })
  .meta({
    description: 'What is wanted.',
    'x-kubernetes-validations': [
      revisionFence,
      {
        rule: 'self.worldName == oldSelf.worldName',
        message: 'spec.worldName cannot change: make a new BotDeployment for the other world',
      },
    ],
  })

/** Why the bots of a run are over: their duration is, or the run of their world. */
export const botRunEndReasons = ['Expired', 'WorldEnded'] as const

/** Indexes in the short form of a Job's `status.completedIndexes`, such as `0-3,7`. */
const indexes = () => z.string().max(65_536)

const run = z.object({
  id: z
    .string()
    .regex(new RegExp(idPattern('run')))
    .describe("The world's run that the bots belong to."),
  startedAt: instant().describe('When the bots were started in that run; their duration counts from here.'),
  completedIndexes: indexes().exactOptional().describe('The bots that ended with 0 and are not made again.'),
  failedIndexes: indexes().exactOptional().describe('The bots that failed too often and are not made again.'),
  restarting: z
    .array(
      z.object({
        indexes: indexes().describe('The bots that are made again.'),
        restarts: z.int().min(1).describe('The how-manieth restart it is.'),
        after: instant().describe('Not before this time.'),
      }),
    )
    .max(10_000)
    .exactOptional()
    .describe('Failed bots that wait to be made again.'),
  failure: z.string().max(2048).exactOptional().describe('How the last of them failed.'),
  endedAt: instant().exactOptional().describe('When the bots of this run were over.'),
  endReason: z.enum(botRunEndReasons).exactOptional().describe('Why they are over.'),
})

/** What is seen of a bot deployment. */
export const botDeploymentStatusSchema = z
  .object({
    phase: z.enum(botPhases).exactOptional().describe('Where the deployment is in its life.'),
    message: z.string().max(4096).exactOptional().describe('What is being waited for, or what went wrong.'),
    startedAt: z.iso.datetime().exactOptional().describe('When the bots of this run were started.'),
    observedGeneration: z.int().min(0).exactOptional().describe('The generation that this status is about.'),
    observedRevision: z.int().min(0).exactOptional().describe('The spec.revision that this status is about.'),
    replicas: z.int().min(0).exactOptional().describe('How many bots exist.'),
    ready: z.int().min(0).exactOptional().describe('How many bots are Ready.'),
    run: run.exactOptional().describe('What must be remembered of the bots of one run of the world.'),
    selector: z.string().max(512).exactOptional().describe('The label selector of the bots, for kubectl scale.'),
    conditions: conditions.exactOptional(),
  })
  .describe('What is seen.')

export type BotDeploymentSpec = z.output<typeof botDeploymentSpecSchema>
export type BotDeploymentStatus = Omit<z.output<typeof botDeploymentStatusSchema>, 'conditions'> & {
  conditions?: Condition[]
}

export type BotRun = z.output<typeof run>

/** Whether the operator has seen the deletion and no bot is left: the finalizer may go. */
export const isBotsDrained = ({ metadata, status }: BotDeployment): boolean =>
  metadata.deletionTimestamp !== undefined &&
  status?.observedGeneration === metadata.generation &&
  status?.phase === 'Stopped'

/** A BotDeployment as the API server returns it; defaults are filled in by the API server from the same schema. */
export type BotDeployment = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec: BotDeploymentSpec
  status?: BotDeploymentStatus
}
