import * as z from 'zod'
import { conditionAnswer } from '#api/domain/events/conditions.ts'
import { metadata, patchMetadata, statusMessage, timestampFields } from '#api/domain/worlds/schema.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { shownDescription, shownId, shownInstant } from '#api/platform/http/fields.ts'
import { botDefaults, botFields } from '#shared/domain/bots.ts'
import { withinArgsLimit } from '#shared/domain/common.ts'
import { botPhases } from '#shared/enumerations.ts'

const description = 'Guests at the door'
const configuration = { count: 3, cpu: '250m', memory: '128Mi', args: ['--dance'], durationMinutes: 30 }
const readyCondition = {
  type: 'Ready',
  status: 'True',
  reason: 'BotsReady',
  message: '',
  lastTransitionAt: exampleInstant,
}
const metadataExample = { annotations: {}, labels: { team: 'events' } }

const { durationMinutes } = botFields
const count = botFields.count.meta({ examples: [configuration.count] })
// With its pattern, a quantity above 0 has a digit above 0.
const aboveZero = { allOf: [{ type: 'string', pattern: '[1-9]' }] }
const cpu = botFields.cpu.meta(aboveZero)
const memory = botFields.memory.meta(aboveZero)
const args = withinArgsLimit(botFields.args)

/** The body of `POST /api/worlds/{worldId}/bots/`. Only the count is required. */
export const createBotsBody = z
  .strictObject({
    count,
    description: botFields.description.default(''),
    cpu: cpu.default(botDefaults.cpu),
    memory: memory.default(botDefaults.memory),
    args: args.default([]),
    durationMinutes: durationMinutes.exactOptional(),
    metadata: metadata.prefault({}),
  })
  .meta({ id: 'CreateBotDeployment', examples: [{ ...configuration, description, metadata: metadataExample }] })

/**
 * The body of `PATCH /api/worlds/{worldId}/bots/{botDeploymentId}/`. Only the count is required; absent fields stay.
 */
export const patchBotsBody = z
  .strictObject({
    count,
    cpu: cpu.exactOptional(),
    memory: memory.exactOptional(),
    args: args.exactOptional(),
    durationMinutes: durationMinutes.exactOptional(),
    metadata: patchMetadata.exactOptional(),
  })
  .meta({ id: 'PatchBotDeployment', examples: [{ count: 5, memory: '256Mi' }] })

/** A bot deployment in responses. */
export const botsAnswer = z
  .object({
    documentId: shownId('bot'),
    description: shownDescription,
    configuration: z
      .object({
        count: z.number().describe('Desired number of bots.'),
        cpu: z.string().describe('CPU limit of each bot.'),
        memory: z.string().describe('Memory limit of each bot.'),
        args: z.array(z.string()).describe('Arguments to the entry point of the image.'),
        durationMinutes: z.number().exactOptional().describe('Minutes after which the bots are stopped.'),
      })
      .describe('Settings of the bots.'),
    status: z
      .object({
        phase: z.enum(botPhases).describe('Phase of the lifecycle.'),
        message: statusMessage,
        startedAt: z.number().exactOptional().describe('Milliseconds since 1970.'),
        worldStartedAt: shownInstant('Time when the run of the world was requested.').exactOptional(),
        cluster: z
          .object({
            name: z.string().describe('Name of the cluster.'),
            computeGroup: z.string().describe('Kind of compute.'),
          })
          .describe('The cluster that runs the bots.'),
        conditions: z
          .array(conditionAnswer)
          .describe('Conditions of the bot deployment. Empty until the operator has reported.'),
      })
      .describe('Observed state.'),
    metadata,
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    worldId: shownId('world'),
    ...timestampFields,
  })
  .meta({
    id: 'BotDeployment',
    examples: [
      {
        documentId: exampleId('bot'),
        description,
        configuration,
        status: {
          phase: 'Running',
          message: '',
          startedAt: Date.parse(exampleInstant),
          worldStartedAt: exampleInstant,
          cluster: { name: 'default', computeGroup: 'production' },
          conditions: [readyCondition],
        },
        metadata: metadataExample,
        organizationId: exampleId('organization'),
        projectId: exampleId('project'),
        worldId: exampleId('world'),
        createdAt: exampleInstant,
        updatedAt: exampleInstant,
      },
    ],
  })

export type CreateBots = z.output<typeof createBotsBody>
export type PatchBots = z.output<typeof patchBotsBody>
export type BotsAnswer = z.output<typeof botsAnswer>
