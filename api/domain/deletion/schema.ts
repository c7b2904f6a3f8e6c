import * as z from 'zod'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { shownId, shownInstant, shownName } from '#api/platform/http/fields.ts'

/** A deleted world that can be restored. */
export const deletedWorld = z
  .object({
    documentId: shownId('world'),
    name: shownName,
    deletedAt: shownInstant('Time of the deletion.'),
    purgeAt: shownInstant('The time from which the world is erased.'),
    isRestorable: z.boolean().meta({ description: 'False while the resource of the world still exists.' }),
  })
  .meta({
    id: 'DeletedWorld',
    examples: [
      {
        documentId: exampleId('world'),
        name: 'Lobby',
        deletedAt: exampleInstant,
        purgeAt: exampleInstant,
        isRestorable: true,
      },
    ],
  })

export type DeletedWorld = z.output<typeof deletedWorld>
