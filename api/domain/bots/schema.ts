import * as z from 'zod'
import { conditionAnswer } from '#api/domain/events/conditions.ts'
import { metadataAnswer, timestampFields } from '#api/domain/worlds/schema.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownId, shownInstant, textMap } from '#api/platform/http/fields.ts'
import { botDefaults, botFields } from '#shared/domain/bots.ts'
import { withinArgsLimit, withinMetadataLimit } from '#shared/domain/common.ts'
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
const metadata = { annotations: {}, labels: { team: 'events' } }

const count = () =>
  z
    .int()
    .min(0)
    .max(10_000)
    .meta({ examples: [configuration.count], description: 'Number of bots.' })
const { durationMinutes } = botFields
// With its pattern, a quantity above 0 has a digit above 0.
const aboveZero = { allOf: [{ type: 'string', pattern: '[1-9]' }] }
const cpu = botFields.cpu.meta(aboveZero)
const memory = botFields.memory.meta(aboveZero)
const args = withinArgsLimit(botFields.args)
const maps = { annotations: textMap(), labels: textMap() }

/** The body of `POST /api/worlds/{worldId}/bots/`. Only the count is required. */
export const createBotsBody = z
  .strictObject({
    count: count(),
    description: boundedText(2048).default(''),
    cpu: cpu.default(botDefaults.cpu),
    memory: memory.default(botDefaults.memory),
    args: args.default([]),
    durationMinutes: durationMinutes.exactOptional(),
    metadata: withinMetadataLimit(
      z.strictObject({ annotations: maps.annotations.default({}), labels: maps.labels.default({}) }),
    ).prefault({}),
  })
  .meta({ id: 'CreateBotDeployment', examples: [{ ...configuration, description, metadata }] })

/**
 * The body of `PATCH /api/worlds/{worldId}/bots/{botDeploymentId}/`. Only the count is required; absent fields stay.
 */
export const patchBotsBody = z
  .strictObject({
    count: count(),
    cpu: cpu.exactOptional(),
    memory: memory.exactOptional(),
    args: args.exactOptional(),
    durationMinutes: durationMinutes.exactOptional(),
    metadata: withinMetadataLimit(z.strictObject(maps)).exactOptional(),
  })
  .meta({ id: 'PatchBotDeployment', examples: [{ count: 5, memory: '256Mi' }] })

/** A bot deployment in responses. */
export const botsAnswer = z
  .object({
    documentId: shownId('bot'),
    description: z.string(),
    configuration: z.object({
      count: z.number(),
      cpu: z.string(),
      memory: z.string(),
      args: z.array(z.string()),
      durationMinutes: z.number().exactOptional(),
    }),
    status: z.object({
      phase: z.enum(botPhases),
      message: z.string(),
      startedAt: z.number().exactOptional().meta({ description: 'Milliseconds since 1970.' }),
      worldStartedAt: shownInstant().exactOptional(),
      cluster: z.object({ name: z.string(), computeGroup: z.string() }),
      conditions: z
        .array(conditionAnswer)
        .describe('Conditions of the bot deployment. Empty until the operator has reported.'),
    }),
    metadata: metadataAnswer,
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
        metadata,
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
