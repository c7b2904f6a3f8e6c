import * as z from 'zod'
import { exampleId } from '#api/platform/http/examples.ts'
import { boundedText, nameField, shownId, shownName, shownVerb } from '#api/platform/http/fields.ts'

const name = nameField('Showroom')

/** The body of `POST /api/organizations/projects/`. */
export const createProjectBody = z
  .strictObject({ name })
  .meta({ id: 'CreateProject', examples: [{ name: 'Showroom' }] })

/** The response of `POST /api/organizations/projects/`. */
export const createdProject = z
  .object({ projectId: shownId('project') })
  .meta({ id: 'CreatedProject', examples: [{ projectId: exampleId('project') }] })

/** The body of `PATCH /api/organizations/projects/current/`. `documentId` must equal the project of the headers. */
export const patchProjectBody = z
  .strictObject({
    documentId: boundedText(64).exactOptional().describe('Identifier of the project.'),
    name: name.exactOptional(),
  })
  .meta({ id: 'PatchProject', examples: [{ name: 'Foyer' }] })

/** The response of `PATCH /api/organizations/projects/current/`. */
export const patchedProject = z
  .object({ documentId: shownId('project'), name: shownName })
  .meta({ id: 'PatchedProject', examples: [{ documentId: exampleId('project'), name: 'Foyer' }] })

/** A project in responses. */
export const projectAnswer = z
  .object({
    documentId: shownId('project'),
    name: shownName,
    projectId: shownId('project'),
    permissionVerb: shownVerb,
  })
  .meta({
    id: 'Project',
    examples: [
      { documentId: exampleId('project'), name: 'Showroom', projectId: exampleId('project'), permissionVerb: '*' },
    ],
  })

export type PatchProject = z.output<typeof patchProjectBody>
export type ProjectAnswer = z.output<typeof projectAnswer>
