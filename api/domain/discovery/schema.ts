import * as z from 'zod'
import { deploymentExample, worldExample } from '#api/domain/worlds/examples.ts'
import { liveConfigUrl } from '#api/domain/worlds/runs/schema.ts'
import { addressFields, admissionAnswer, metadata, queueState } from '#api/domain/worlds/schema.ts'
import { boundedText, shownId, shownPicture } from '#api/platform/http/fields.ts'
import { pageQuery } from '#api/platform/http/page.ts'

const travelExample = {
  deployment: deploymentExample.id,
  map: deploymentExample.runtime.mapName,
  buildId: deploymentExample.runtime.build.id,
  organizationId: worldExample.organizationId,
  projectId: worldExample.projectId,
  launchContextId: worldExample.launchContext.launchContextId,
  launchContextName: worldExample.launchContext.name,
  worldId: worldExample.documentId,
  worldName: worldExample.name,
  liveConfigUrl: deploymentExample.runtime.liveConfigUrl,
  contentId: deploymentExample.runtime.build.content.id,
  metadata: worldExample.metadata,
  queueState: worldExample.queueState,
  admission: worldExample.admission,
  pictureUrl: worldExample.pictureUrl,
  address: worldExample.status.address,
  addresses: worldExample.status.addresses,
  strategy: worldExample.status.strategy,
}

/** A world that users can travel to, in responses. */
export const travelLocation = z
  .object({
    deployment: z.string().describe('Identifier of the deployment that runs. Empty if none is recorded.'),
    map: z.string().describe('Name of the map that the server loaded.'),
    buildId: z.string().describe('Identifier of the build of the run. Empty for the default image.'),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    launchContextId: shownId('launchContext'),
    launchContextName: z.string().describe('Name of the launch context.'),
    worldId: shownId('world'),
    worldName: z.string().describe('Name of the world.'),
    isAsleep: z.literal(true).exactOptional().describe('Present if the world sleeps and the access check wakes it.'),
    liveConfigUrl,
    contentId: z.string().describe('Identifier of the content that the image holds.'),
    metadata,
    queueState,
    admission: admissionAnswer,
    pictureUrl: shownPicture,
    ...addressFields,
  })
  .meta({ id: 'TravelLocation', examples: [travelExample] })

/** The response of `GET /api/worlds/travel/locations/`. */
export const travelLocations = z
  .object({ worlds: z.array(travelLocation).describe('The worlds that users can travel to.') })
  .meta({ id: 'TravelLocations', examples: [{ worlds: [travelExample] }] })

/** The query parameters of the list of travel locations. */
export const travelQuery = pageQuery.extend({
  include: z
    .enum(['idle'])
    .optional()
    .meta({ description: 'Also lists worlds that sleep and that the access check wakes.', examples: ['idle'] }),
})

const userIdText = 'Identifier of the user.'

/** The path parameters of an access check. A user id is any text, since identity providers choose it. */
export const accessParams = z.object({
  userId: boundedText(1024).meta({ description: userIdText, examples: ['user-7'] }),
})

/** The response of `getWorldAccess`. */
export const accessAnswer = z
  .object({
    userId: z.string().describe(userIdText),
    hasAccess: z.boolean().describe('True if the user can enter the world.'),
    reason: z
      .string()
      .exactOptional()
      .describe('Sentence that says why a world that sleeps was not woken for the user. Absent otherwise.'),
  })
  .meta({ id: 'WorldAccess', examples: [{ userId: 'user-7', hasAccess: true }] })

export type TravelLocation = z.output<typeof travelLocation>
export type AccessAnswer = z.output<typeof accessAnswer>
