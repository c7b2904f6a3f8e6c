import * as z from 'zod'
import { shownId, shownInstant } from '#api/platform/http/fields.ts'
import { kindList, kinds } from '#shared/resources/group.ts'
import { findingTypes } from './table.ts'

const kind = z.enum(kindList.map((each) => kinds[each].kind))
const count = (description: string) => z.number().meta({ description })

const heldSweep = z.object({
  kind: kind.meta({ description: 'The kind of the missing resources.' }),
  missing: count('Number of missing resources.'),
  total: count('Number of rows with a resource.'),
  examples: z.array(z.string()).meta({ description: 'Ids of some rows whose resources are missing.' }),
  heldAt: shownInstant('Time since which the sweep waits for acceptance.'),
})

const dirtyRows = z.object({
  count: count('Number of rows with changes to push.'),
  oldestSeconds: count('Seconds for which the oldest of them has been dirty. 0 if there is none.'),
})

const cluster = z.object({
  name: z.string().meta({ description: 'Name of the cluster.' }),
  state: z.enum(['Accepted', 'AnotherCluster', 'RestoredCluster']).meta({
    description: 'State of the cluster. The API pushes to the cluster and pulls from it only in the state Accepted.',
  }),
  message: z
    .string()
    .meta({ description: 'The reason of a refusal and what to do. Empty if the cluster is accepted.' }),
  uid: z.string().meta({ description: 'The uid of the namespace kube-system of the accepted cluster.' }),
  dirtyRows: dirtyRows.meta({ description: 'The rows with changes to push to the cluster.' }),
  heldSweeps: z.array(heldSweep).meta({ description: 'Sweeps that wait for acceptance.' }),
})

const finding = z.object({
  id: shownId('finding'),
  type: z.enum(findingTypes).meta({
    description:
      'Frozen: the resource is ahead of its row. Orphan: it has no row. Stranger: another resource owns its name.',
  }),
  kind: kind.meta({ description: 'The kind of the resource.' }),
  cluster: z.string().meta({ description: 'Name of the cluster.' }),
  namespace: z.string().meta({ description: 'Namespace of the resource.' }),
  name: z.string().meta({ description: 'Name of the resource.' }),
  message: z.string().meta({ description: 'The difference, and the remedy.' }),
  createdAt: shownInstant('Time of the creation.'),
})

/** The answer of `GET /api/sync/`: the state of the sync, with a page of findings. */
export const syncStatus = z
  .object({
    clusters: z.array(cluster).meta({ description: 'The clusters that the API has been connected to.' }),
    dirtyRows: dirtyRows.meta({
      description:
        'The rows with changes to push, including those of clusters that the API has never been connected to.',
    }),
    counts: z
      .object({
        frozen: count('Number of frozen rows.'),
        orphans: count(
          'Number of resources without a row that the API made, or whose organization is deleted or unknown.',
        ),
        strangers: count('Number of resources with the name of a row that belong to something else.'),
      })
      .meta({ description: 'Number of findings of each type.' }),
    findings: z.array(finding).meta({ description: 'A page of the findings, oldest first.' }),
  })
  .meta({
    id: 'SyncStatus',
    examples: [
      {
        clusters: [
          {
            name: 'default',
            state: 'Accepted',
            message: '',
            uid: '6f1c2f0e-5c7b-4f59-8a6a-1f1d9a5d3c11',
            dirtyRows: { count: 0, oldestSeconds: 0 },
            heldSweeps: [],
          },
        ],
        dirtyRows: { count: 0, oldestSeconds: 0 },
        counts: { frozen: 0, orphans: 0, strangers: 0 },
        findings: [],
      },
    ],
  })
export type SyncStatusAnswer = z.output<typeof syncStatus>
