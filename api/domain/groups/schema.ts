import * as z from 'zod'
import { groupMappings } from '#api/domain/access/groups.ts'
import { exampleId } from '#api/platform/http/examples.ts'

const example = {
  groups: [
    {
      issuer: 'https://id.example.com',
      group: 'world-operators',
      permissions: [`organizations/${exampleId('organization')}/**:w`],
    },
  ],
}

/** The group mappings of an organization, as body and answer. */
export const groupsBody = z
  .strictObject({
    groups: groupMappings.meta({
      description: 'The group mappings. Members of several groups get the permissions of all.',
    }),
  })
  .meta({ id: 'Groups', examples: [example] })

export type Groups = z.output<typeof groupsBody>
