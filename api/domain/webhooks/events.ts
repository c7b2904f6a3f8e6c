/** The types of events that a webhook can select. */
export const webhookEventTypes = [
  'world.phase_changed',
  'bot_deployment.phase_changed',
  'api_key.created',
  'api_key.updated',
  'api_key.deleted',
] as const

/** The type of the message that `POST /api/webhooks/{webhookId}/test/` sends. Every webhook gets it. */
export const testEventType = 'webhook.test'

/** The version of the messages. Members may be added to a version. */
export const messageVersion = 1
