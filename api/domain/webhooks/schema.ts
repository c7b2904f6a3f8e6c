import * as z from 'zod'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownId, shownInstant } from '#api/platform/http/fields.ts'
import { pageQuery } from '#api/platform/http/page.ts'
import { maxUrlLength, urlPattern } from '#api/platform/webhooks/url.ts'
import { testEventType, webhookEventTypes } from './events.ts'
import { attemptFailures, deliveryStatuses, disabledReasons } from './table.ts'

const exampleUrl = 'https://hooks.example.com/orrery'
const exampleSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const url = () =>
  boundedText(maxUrlLength)
    .regex(urlPattern, 'must be https://<host name>/…, port 443 or 1024 to 65535, without credentials and fragment')
    .meta({
      description: 'URL to which messages are posted: https, a host name with a public address, port 443 or from 1024.',
      examples: [exampleUrl],
    })
const events = () =>
  z
    .array(z.enum(webhookEventTypes))
    .max(webhookEventTypes.length)
    .meta({
      description: 'Types of events that are sent. An empty list selects all, also types that are added later.',
      examples: [['world.phase_changed']],
    })
const isActive = () => z.boolean().meta({ description: 'False if no events are recorded and sent.' })

/** The body of `POST /api/webhooks/`. Only the URL is required. */
export const createWebhookBody = z
  .strictObject({ url: url(), events: events().default([]), isActive: isActive().default(true) })
  .meta({ id: 'CreateWebhook', examples: [{ url: exampleUrl, events: ['world.phase_changed'] }] })

/** The body of `PATCH /api/webhooks/{webhookId}/`. Omitted fields stay unchanged. */
export const patchWebhookBody = z
  .strictObject({
    url: url().exactOptional(),
    events: events().exactOptional(),
    isActive: isActive().exactOptional(),
  })
  .meta({ id: 'PatchWebhook', examples: [{ isActive: true }] })

const maxOverlapSeconds = 7 * 24 * 3_600

/** The body of `POST /api/webhooks/{webhookId}/rotate/`. */
export const rotateWebhookBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(maxOverlapSeconds).default(86_400).meta({
      description: 'The time for which messages are signed with the replaced secret too, in seconds.',
    }),
  })
  .meta({ id: 'RotateWebhook', examples: [{ overlapSeconds: 86_400 }] })

const webhookFields = {
  documentId: shownId('webhook'),
  organizationId: shownId('organization'),
  url: z.string().meta({ description: 'URL to which messages are posted.' }),
  events: z.array(z.enum(webhookEventTypes)).meta({ description: 'Types of events that are sent. Empty for all.' }),
  isActive: isActive(),
  failingSince: shownInstant(
    'Time of the first failed attempt since the last success. Absent if the last attempt succeeded.',
  ).exactOptional(),
  disabledAt: shownInstant('Time when the system deactivated the webhook.').exactOptional(),
  disabledReason: z.enum(disabledReasons).exactOptional().meta({
    description:
      'Reason why the system deactivated the webhook: Failing if nothing was delivered for too long, Gone if it answered 410, Backlog if too many deliveries were pending.',
  }),
  createdAt: shownInstant('Time of the creation.'),
  updatedAt: shownInstant('Time of the last change of the webhook.'),
}
const webhookExample = {
  documentId: exampleId('webhook'),
  organizationId: exampleId('organization'),
  url: exampleUrl,
  events: ['world.phase_changed' as const],
  isActive: true,
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
}

/** A webhook in a response, without its secret. */
export const webhookAnswer = z
  .object(webhookFields)
  .meta({ id: 'Webhook', examples: [webhookExample, { ...webhookExample, failingSince: exampleInstant }] })

const secret = () =>
  z.string().meta({ description: 'The signing secret. No later response contains it.', examples: [exampleSecret] })

/** The answer of `POST /api/webhooks/`: the webhook with its secret. */
export const createdWebhook = z
  .object({ ...webhookFields, secret: secret() })
  .meta({ id: 'CreatedWebhook', examples: [{ ...webhookExample, secret: exampleSecret }] })

/** The answer of `POST /api/webhooks/{webhookId}/rotate/`. */
export const rotatedWebhook = z
  .object({
    secret: secret(),
    previousValidUntil: shownInstant('Time until which messages have both signatures.'),
  })
  .meta({ id: 'RotatedWebhook', examples: [{ secret: exampleSecret, previousValidUntil: exampleInstant }] })

/** The query of `GET /api/webhooks/{webhookId}/deliveries/`. */
export const deliveriesQuery = pageQuery.extend({
  status: z
    .enum(deliveryStatuses)
    .optional()
    .meta({ description: 'Only deliveries in this state.', examples: ['Failed'] }),
})

/** A delivery in a response. It contains nothing of the answers but their status. */
export const deliveryAnswer = z
  .object({
    id: shownId('delivery'),
    webhookId: shownId('webhook'),
    messageId: shownId('message').meta({
      description: 'Identifier of the message, sent as `webhook-id`. All attempts have the same one.',
    }),
    type: z.enum([...webhookEventTypes, testEventType]).meta({ description: 'Type of the event.' }),
    status: z.enum(deliveryStatuses).meta({
      description: 'Pending until an attempt is answered with 2xx or the last one has failed.',
    }),
    createdAt: shownInstant('Time of the event.'),
    attempts: z.int().meta({ description: 'Number of attempts since the event or the last redelivery.' }),
    lastAttemptAt: shownInstant('Time when the last attempt ended.').exactOptional(),
    nextAttemptAt: shownInstant(
      'Time of the next attempt, or of its repetition if one is under way. Only while Pending.',
    ).exactOptional(),
    statusCode: z.int().exactOptional().meta({ description: 'HTTP status of the last answer.' }),
    failure: z
      .enum(attemptFailures)
      .exactOptional()
      .meta({ description: 'Reason for the failure of the last attempt, for programs.' }),
    error: z.string().exactOptional().meta({ description: 'Description of the failure of the last attempt.' }),
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: exampleId('delivery'),
        webhookId: exampleId('webhook'),
        messageId: exampleId('message'),
        type: 'world.phase_changed',
        status: 'Pending',
        createdAt: exampleInstant,
        attempts: 0,
        nextAttemptAt: exampleInstant,
      },
      {
        id: exampleId('delivery'),
        webhookId: exampleId('webhook'),
        messageId: exampleId('message'),
        type: 'world.phase_changed',
        status: 'Pending',
        createdAt: exampleInstant,
        attempts: 1,
        lastAttemptAt: exampleInstant,
        nextAttemptAt: exampleInstant,
        failure: 'TimedOut',
        error: 'The receiver did not answer in time.',
      },
    ],
  })

export type CreateWebhook = z.output<typeof createWebhookBody>
export type PatchWebhook = z.output<typeof patchWebhookBody>
export type RotateWebhook = z.output<typeof rotateWebhookBody>
export type WebhookAnswer = z.output<typeof webhookAnswer>
export type CreatedWebhook = z.input<typeof createdWebhook>
export type RotatedWebhook = z.input<typeof rotatedWebhook>
export type DeliveriesQuery = z.output<typeof deliveriesQuery>
export type DeliveryAnswer = z.output<typeof deliveryAnswer>
