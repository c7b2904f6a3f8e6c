import * as z from 'zod'
import { exampleId } from '#api/platform/http/examples.ts'
import { boundedText, maxNameLength, shownId } from '#api/platform/http/fields.ts'

const name = () =>
  boundedText(maxNameLength)
    .min(1)
    .meta({ examples: ['Showroom'] })

/** The body of `POST /api/organizations/projects/`. */
export const createProjectBody = z
  .strictObject({ name: name() })
  .meta({ id: 'CreateProject', examples: [{ name: 'Showroom' }] })

/** The response of `POST /api/organizations/projects/`. */
export const createdProject = z
  .object({ projectId: shownId('project') })
  .meta({ id: 'CreatedProject', examples: [{ projectId: exampleId('project') }] })

/** The body of `PATCH /api/organizations/projects/current/`. `documentId` must equal the project of the headers. */
export const patchProjectBody = z
  .strictObject({ documentId: boundedText(64).exactOptional(), name: name().exactOptional() })
  .meta({ id: 'PatchProject', examples: [{ name: 'Foyer' }] })

/** The response of `PATCH /api/organizations/projects/current/`. */
export const patchedProject = z
  .object({ documentId: shownId('project'), name: z.string() })
  .meta({ id: 'PatchedProject', examples: [{ documentId: exampleId('project'), name: 'Foyer' }] })

/** A project in responses. */
export const projectAnswer = z
  .object({
    documentId: shownId('project'),
    name: z.string(),
    projectId: shownId('project'),
    permissionVerb: z.enum(['r', 'w', '*']),
  })
  .meta({
    id: 'Project',
    examples: [
      { documentId: exampleId('project'), name: 'Showroom', projectId: exampleId('project'), permissionVerb: '*' },
    ],
  })

export type PatchProject = z.output<typeof patchProjectBody>
export type ProjectAnswer = z.output<typeof projectAnswer>
