import * as z from 'zod'
import { type WorldAnswer, worldAnswer } from '#api/domain/worlds/schema.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText } from '#api/platform/http/fields.ts'
import { cursorQuery, pageQuery } from '#api/platform/http/page.ts'
import { computeRegions, deploymentStatuses, worldPhases } from '#shared/enumerations.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'

/** The schema of a query parameter with several values of an enumeration, repeated or separated by commas. */
const severalOf = <const Values extends readonly [string, ...string[]]>(
  values: Values,
  {
    description,
    examples,
  }: { description: string; examples: readonly [Values[number]][] | [Values[number], Values[number]][] },
) => {
  // Long enough for every value twice.
  const text = boundedText(1_024)
  const maxValues = values.length * 2
  return z
    .union([text, z.array(text).max(maxValues)])
    .optional()
    .transform((given) => [given ?? []].flat().flatMap((each) => each.split(',')))
    .pipe(z.array(z.enum(values)).max(maxValues))
    .meta({
      type: 'array',
      items: { type: 'string', enum: [...values] },
      maxItems: maxValues,
      examples: [...examples],
      description: `${description} Repeat the parameter or separate the values with commas.`,
    })
}

/** The query of the list of deployments. */
export const deploymentsQuery = pageQuery.extend({
  status: severalOf(deploymentStatuses, {
    description: 'Statuses of the runs to list.',
    examples: [['Running', 'Error']],
  }),
})

/** The source of a regular expression for text that Postgres can store and compare. */
const storableText = '^[^\\u0000]+$'
/** Text of 1 to `max` code points that Postgres can store and compare. */
export const filterText = (max: number) =>
  boundedText(max).min(1, 'must not be empty').regex(new RegExp(storableText), 'must not contain U+0000')

// A full set of filters, percent-encoded, fits into the 16 KiB that Node accepts for the request line and the headers.
const maxLabels = 4
const maxLabelLength = 128
const label = filterText(maxLabelLength)

/** The query of the counts of worlds: filters that all apply. */
export const worldFilters = z.object({
  phase: severalOf(worldPhases, { description: 'Phases of the worlds to list.', examples: [['Starting', 'Active']] }),
  profile: severalOf(scalingProfileNames, {
    description: 'Scaling profiles of the worlds to list.',
    examples: [['Capacity30', 'Capacity60']],
  }),
  region: severalOf(computeRegions, { description: 'Regions of the worlds to list.', examples: [['Europe']] }),
  name: filterText(64)
    .optional()
    .meta({ description: 'The exact name of the worlds to list.', examples: ['Lobby'] }),
  q: filterText(256)
    .optional()
    .meta({ description: 'Text that the name or the description contains, in any case.', examples: ['lob'] }),
  label: z
    .union([label, z.array(label).max(maxLabels)])
    .optional()
    .transform((given) => [given ?? []].flat())
    .meta({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: maxLabelLength, pattern: storableText },
      maxItems: maxLabels,
      examples: [['team=events']],
      description: 'A label that the worlds have: `key=value`, or `key` for any value. All of several must match.',
    }),
})

/** The fields that the list of worlds can be sorted by. */
const sortFields = ['createdAt', 'updatedAt', 'name', 'phase'] as const
const descending = sortFields.map((field) => `-${field}` as const)
/** The names of the members of a world. */
const worldMembers = Object.keys(worldAnswer.shape) as [keyof WorldAnswer, ...(keyof WorldAnswer)[]]

const cursorPattern = /^([\w-]{0,350})\.(wld-[0-9a-z]{26})$/

const decodeCursor = (text: string): { value: string; id: string } | undefined => {
  const [, value, id] = cursorPattern.exec(text) ?? []
  return value === undefined || id === undefined ? undefined : { value, id }
}

/** The query of the list of worlds: the page, its order, the fields of the answer, and filters that all apply. */
export const worldsQuery = worldFilters.extend({
  limit: pageQuery.shape.limit,
  cursor: cursorQuery(decodeCursor, {
    maxLength: 512,
    pattern: cursorPattern,
    description: 'The cursor from the Link header of the previous page. Send the same `sort` with it.',
    example: `${Date.parse(exampleInstant).toString(16)}.${exampleId('world')}`,
  }),
  sort: z
    .enum([...sortFields, ...descending])
    .default('createdAt')
    .meta({
      description: 'The field that orders the list, with `-` for descending. Equal values are ordered by id.',
      examples: ['-updatedAt'],
    }),
  fields: severalOf(worldMembers, {
    description: 'Members of the worlds in the response. Without it, all. `documentId` is always there.',
    examples: [['name', 'status']],
  }),
})

export type SortField = (typeof sortFields)[number]
export type WorldsQuery = z.output<typeof worldsQuery>
/** The filters of the list of worlds. */
export type WorldFilter = Partial<z.output<typeof worldFilters>>
