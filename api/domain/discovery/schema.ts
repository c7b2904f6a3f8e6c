import * as z from 'zod'
import { deploymentExample, worldExample } from '#api/domain/worlds/examples.ts'
import { addressFields, admissionAnswer, metadataAnswer, queueState } from '#api/domain/worlds/schema.ts'
import { boundedText, shownId } from '#api/platform/http/fields.ts'

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
  strategy: worldExample.status.strategy,
}

/** A world that users can travel to, in responses. */
export const travelLocation = z
  .object({
    deployment: z.string(),
    map: z.string(),
    buildId: z.string(),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    launchContextId: shownId('launchContext'),
    launchContextName: z.string(),
    worldId: shownId('world'),
    worldName: z.string(),
    liveConfigUrl: z.string(),
    contentId: z.string(),
    metadata: metadataAnswer,
    queueState,
    admission: admissionAnswer,
    pictureUrl: z.string().exactOptional(),
    ...addressFields,
  })
  .meta({ id: 'TravelLocation', examples: [travelExample] })

/** The response of `GET /api/worlds/travel/locations/`. */
export const travelLocations = z
  .object({ worlds: z.array(travelLocation) })
  .meta({ id: 'TravelLocations', examples: [{ worlds: [travelExample] }] })

/** The path parameters of an access check. A user id is any text, since identity providers choose it. */
export const accessParams = z.object({ userId: boundedText(1024).meta({ examples: ['user-7'] }) })

/** The response of `getWorldAccess`. */
export const accessAnswer = z
  .object({ userId: z.string(), hasAccess: z.boolean() })
  .meta({ id: 'WorldAccess', examples: [{ userId: 'user-7', hasAccess: true }] })

export type TravelLocation = z.output<typeof travelLocation>
export type AccessAnswer = z.output<typeof accessAnswer>
