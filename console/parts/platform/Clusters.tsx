import type { Client } from '#client/client.ts'
import type { SyncStatusCluster, SyncStatusClusterHeldSweep } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { countRowsElsewhere, describeCluster, describeRows } from '#console/state/platform/clusters.ts'
import { acceptCommand } from '#console/state/platform/commands.ts'
import { toVisible } from '#console/state/visible.ts'
import { State } from '../organization/State.tsx'
import { CopyButton, Said, Scrolled, Time } from '../pieces.tsx'
import { Command, CommandNote, Reading } from './pieces.tsx'
import { useReading } from './useReading.ts'

/** The clusters: whether each is synchronized, the rows that wait to be pushed, and the sweeps that wait for a decision. */
export const Clusters = ({ client }: { readonly client: Client }) => {
  const reading = useReading((signal) => client.getSyncStatus({ query: { limit: 1 }, signal }))
  return (
    <>
      <Reading reading={reading} what="The clusters">
        {(status) => (
          <>
            {status.clusters.length === 0 ? (
              <p class="empty">The API has not been connected to a cluster yet. Its log says why.</p>
            ) : (
              <Table clusters={status.clusters} />
            )}
            {countRowsElsewhere(status) > 0 && (
              <p class="is-warning">
                ▲ {formatCount(countRowsElsewhere(status), 'row')} to push to clusters that are not listed: they are not
                in ORRERY_CLUSTERS_FILE, or have not answered yet.
              </p>
            )}
          </>
        )}
      </Reading>
      <CommandNote />
    </>
  )
}

const Table = ({ clusters }: { readonly clusters: readonly SyncStatusCluster[] }) => (
  <Scrolled label="Table of clusters">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Cluster</th>
          <th scope="col">State</th>
          <th scope="col">Rows to push</th>
          <th scope="col">Missing resources</th>
        </tr>
      </thead>
      <tbody>
        {clusters.map((cluster) => (
          <Row key={cluster.name} cluster={cluster} />
        ))}
      </tbody>
    </table>
  </Scrolled>
)

const Row = ({ cluster }: { readonly cluster: SyncStatusCluster }) => {
  const { name, state, uid, dirtyRows, heldSweeps } = cluster
  return (
    <tr>
      <th scope="row" class="wide">
        <Said text={name} />
        <span class="notes">
          <code class="id">{toVisible(uid)}</code>
          <CopyButton name={`the uid of the cluster ${toVisible(name)}`} text={uid} />
        </span>
      </th>
      <td data-name="State" class="wide">
        <State text={describeCluster(cluster)} />
        {state !== 'Accepted' && (
          <Command text={acceptCommand(name)} name={`the command that accepts the cluster ${toVisible(name)}`} />
        )}
      </td>
      <td data-name="Rows to push" class="wide">
        <State text={describeRows(dirtyRows)} />
      </td>
      <td data-name="Missing resources" class="wide">
        {heldSweeps.length === 0 && <span class="muted">No sweep waits</span>}
        {heldSweeps.map((sweep) => (
          <HeldSweep key={sweep.kind} sweep={sweep} />
        ))}
        {/* The command accepts a refused cluster first. */}
        {heldSweeps.length > 0 && state === 'Accepted' && (
          <Command
            text={acceptCommand(name)}
            name={`the command that recreates the missing resources in the cluster ${toVisible(name)}`}
          />
        )}
      </td>
    </tr>
  )
}

const HeldSweep = ({
  sweep: { kind, missing, total, examples, heldAt },
}: {
  readonly sweep: SyncStatusClusterHeldSweep
}) => (
  <>
    <p>
      <span class="is-warning">
        ▲ {formatCount(missing)} of {formatCount(total, kind)}
      </span>{' '}
      missing since <Time at={heldAt} />. Find the cause first. The command recreates them; to give them up, delete them
      over REST.
    </p>
    <ul class="examples" aria-label={`Examples of a missing ${kind}`}>
      {examples.map((id) => (
        <li key={id}>
          <code class="id">{toVisible(id)}</code>
        </li>
      ))}
    </ul>
  </>
)
