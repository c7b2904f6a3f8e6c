import { z } from 'zod'
import { shownId } from '#api/http/fields.ts'
import { queueState, shownAdmission, shownMetadata } from '#api/worlds/schema.ts'

/** A world to travel to. */
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
    metadata: shownMetadata,
    queueState,
    admission: shownAdmission,
    pictureUrl: z.string().exactOptional(),
  })
  .meta({ id: 'TravelLocation' })

/** The answer of `GET /api/worlds/travel/locations/`. */
export const travelLocations = z.object({ worlds: z.array(travelLocation) }).meta({ id: 'TravelLocations' })

/** Whether a user can enter a world. */
export const accessAnswer = z.object({ userId: z.string(), hasAccess: z.boolean() }).meta({ id: 'WorldAccess' })

export type TravelLocation = z.output<typeof travelLocation>
export type AccessAnswer = z.output<typeof accessAnswer>
