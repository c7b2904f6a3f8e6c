import * as z from 'zod'
import { filterText } from '#api/domain/worlds/listing/query.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import { shownId } from '#api/platform/http/fields.ts'
import { computeRegions, worldPhases } from '#shared/enumerations.ts'
import { idPattern } from '#shared/ids.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'

/** The maximum number of worlds of one request. */
export const maxBulkWorlds = 1_000

const several = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.array(z.enum(values)).min(1).max(values.length)

const filter = z
  .strictObject({
    phase: several(worldPhases).exactOptional().describe('Phases of the worlds.'),
    profile: several(scalingProfileNames).exactOptional().describe('Scaling profiles of the worlds.'),
    region: several(computeRegions).exactOptional().describe('Regions of the worlds.'),
    name: filterText(64).exactOptional().describe('The exact name of the worlds.'),
    q: filterText(256).exactOptional().describe('Text that the name or the description contains, in any case.'),
    label: z
      .array(filterText(1_024))
      .min(1)
      .max(8)
      .exactOptional()
      .describe('Labels that the worlds have: `key=value`, or `key` for any value. All must match.'),
  })
  .refine((given) => Object.keys(given).length > 0, 'must have at least one condition')
  .meta({ minProperties: 1, description: 'Conditions as in the query of `listWorlds`. All must match.' })

const ids = z
  .array(z.string().regex(new RegExp(idPattern('world')), 'must be the id of a world'))
  .min(1)
  .max(maxBulkWorlds)
  .meta({ description: 'Identifiers of the worlds.' })

const actionOf = <const Actions extends readonly string[]>(...actions: Actions) =>
  z.enum(actions).describe('The action on each world.')
const action = actionOf('start', 'stop', 'restart', 'delete')
const expectedCount = z
  .int()
  .min(0)
  .max(maxBulkWorlds)
  .describe('Number of worlds that the filter must match. A deletion by filter needs it; another number gets 409.')

/** The valid combinations of fields, for the document. */
const variants = [
  z.strictObject({ action, ids }).meta({ title: 'BulkActionByIds' }),
  z
    .strictObject({
      action: actionOf('start', 'stop', 'restart'),
      filter,
      expectedCount: expectedCount.exactOptional(),
    })
    .meta({ title: 'BulkActionByFilter' }),
  z.strictObject({ action: actionOf('delete'), filter, expectedCount }).meta({
    title: 'BulkDeletionByFilter',
    examples: [{ action: 'delete', filter: { name: 'Rehearsal' }, expectedCount: 1 }],
  }),
]

/** The body of `POST /api/worlds/actions/`. */
export const bulkBody = z
  .strictObject({
    action,
    ids: ids.exactOptional(),
    filter: filter.exactOptional(),
    expectedCount: expectedCount.exactOptional(),
  })
  .superRefine((body, context) => {
    const fault = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message })
    if (body.ids === undefined && body.filter === undefined) fault('ids', 'ids or filter is required')
    if (body.ids !== undefined && body.filter !== undefined) fault('filter', 'must not be given together with ids')
    const isDeletion = body.action === 'delete' && body.filter !== undefined
    if (isDeletion && body.expectedCount === undefined) fault('expectedCount', 'required for a deletion by filter')
    if (body.ids !== undefined && body.expectedCount !== undefined) fault('expectedCount', 'only counts with a filter')
  })
  .meta({
    id: 'BulkAction',
    anyOf: variants.map((variant) => z.toJSONSchema(variant)).map(({ $schema: _, ...schema }) => schema),
    examples: [
      { action: 'start', ids: [exampleId('world')] },
      { action: 'start', filter: { phase: ['Starting', 'Active'] } },
    ],
  })

/** The response of `POST /api/worlds/actions/`. */
export const bulkAnswer = z
  .object({
    results: z
      .array(
        z.object({
          worldId: shownId('world'),
          status: z.int().describe('HTTP status that the action has for this world.'),
          code: z.string().exactOptional().describe('Code of the problem. Absent after success.'),
          detail: z.string().exactOptional().describe('An explanation for people. Absent after success.'),
        }),
      )
      .describe('One result for each world, in the order of the ids, or with the oldest world first.'),
  })
  .meta({ id: 'BulkResult', examples: [{ results: [{ worldId: exampleId('world'), status: 200 }] }] })

export type BulkAction = z.output<typeof bulkBody>
export type BulkAnswer = z.output<typeof bulkAnswer>
