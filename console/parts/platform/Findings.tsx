import { useSignal } from '@preact/signals'
import type { Client } from '#client/client.ts'
import type { SyncStatus, SyncStatusFinding } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { commandsFor, commandsForAll } from '#console/state/platform/commands.ts'
import { matchText } from '#console/state/platform/match.ts'
import { toVisible } from '#console/state/visible.ts'
import { place } from '../../live/location.ts'
import { Age, Said, Scrolled } from '../pieces.tsx'
import { CommandNote, FilterField, Reading, Remedies } from './pieces.tsx'
import { useReading } from './useReading.ts'

/** The findings that are read first, and the most that one request can read. */
const fewFindings = 100
const maxFindings = 1_000

/** The differences that sync does not resolve, each with the commands that do. */
export const Findings = ({ client }: { readonly client: Client }) => {
  const limit = useSignal(fewFindings)
  const reading = useReading((signal) => client.getSyncStatus({ query: { limit: limit.peek() }, signal }))
  const onMore =
    limit.value === maxFindings
      ? undefined
      : () => {
          limit.value = maxFindings
          reading.load()
        }
  return (
    <>
      <Reading reading={reading} what="The findings">
        {(status) =>
          status.findings.length === 0 ? (
            <p class="empty">No resource waits for a decision. "Doctor" has the command that compares everything.</p>
          ) : (
            <Found status={status} onMore={onMore} />
          )
        }
      </Reading>
      <CommandNote />
    </>
  )
}

const Found = ({
  status: { findings, counts },
  onMore,
}: {
  readonly status: SyncStatus
  readonly onMore: (() => void) | undefined
}) => {
  const matching = matchText(findings, place.value.filter, ({ type, kind, cluster, namespace, name, message }) => [
    type,
    kind,
    cluster,
    `${namespace}/${name}`,
    message,
  ])
  const { frozen, orphans, strangers } = counts
  const left = frozen + orphans + strangers - findings.length
  return (
    <>
      <p>
        {formatCount(frozen, 'frozen row')}, {formatCount(orphans, 'orphan')}, {formatCount(strangers, 'stranger')}.
        Nothing is written to them until an administrator decides.
      </p>
      <Remedies remedies={commandsForAll(counts)} of="all" />
      <FilterField
        placeholder="type, kind, cluster, namespace or name"
        result={
          matching.length === findings.length
            ? formatCount(findings.length, 'finding')
            : `${formatCount(matching.length)} of ${formatCount(findings.length, 'finding')}`
        }
      />
      {matching.length === 0 ? <p class="empty">No finding matches the filter.</p> : <Table findings={matching} />}
      {left > 0 && (
        <p class="muted small">
          The oldest {formatCount(findings.length)} are shown, and {formatCount(left)} are not.{' '}
          {onMore === undefined ? (
            <>
              <code>GET /api/sync/</code> lists all.
            </>
          ) : (
            <button type="button" onClick={onMore}>
              Show more
            </button>
          )}
        </p>
      )}
    </>
  )
}

const Table = ({ findings }: { readonly findings: readonly SyncStatusFinding[] }) => (
  <Scrolled label="Table of findings">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Resource</th>
          <th scope="col">Finding</th>
          <th scope="col">Age</th>
          <th scope="col">Commands</th>
        </tr>
      </thead>
      <tbody>
        {findings.map((finding) => (
          <Row key={finding.id} finding={finding} />
        ))}
      </tbody>
    </table>
  </Scrolled>
)

const Row = ({ finding }: { readonly finding: SyncStatusFinding }) => {
  const { type, kind, cluster, namespace, name, message, createdAt } = finding
  return (
    <tr>
      <th scope="row" class="wide">
        {kind} <Said text={name} />
        <p class="place muted small">
          in <Said text={namespace} />, cluster <Said text={cluster} />
        </p>
      </th>
      <td class="wide finding">
        <span class="is-warning">▲ {type}</span>
        <p class="small">
          <Said text={message} />
        </p>
      </td>
      <td data-name="Age">
        <Age at={createdAt} />
      </td>
      <td class="wide finding">
        <Remedies remedies={commandsFor(finding)} of={toVisible(`${namespace}/${name}`)} />
      </td>
    </tr>
  )
}
