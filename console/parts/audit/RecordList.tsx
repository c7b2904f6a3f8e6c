import { mayGrow, type RecordPage, untilOlder } from '#console/state/audit.ts'
import { formatCount } from '#console/state/format.ts'
import { hrefOf } from '../../live/location.ts'
import type { Records } from '../../live/records.ts'
import type { Session } from '../../live/session.ts'
import { FaultNotice } from '../FailureNotice.tsx'
import { Loaded } from '../pieces.tsx'
import { AuditTable } from './AuditTable.tsx'

/** The records of a query as a table, with the older ones on demand. `empty` says that there are none. */
export const RecordList = ({
  records,
  credential,
  empty,
  omit = '',
}: {
  readonly records: Records
  readonly credential: Session['credential']
  readonly empty: string
  readonly omit?: string
}) => (
  <Loaded slot={records.newest.slot.value} what="The changes" onRetry={records.newest.load}>
    {() => (
      <>
        {records.known.value.records.length > 0 && (
          <AuditTable records={records.known.value.records} credential={credential} omit={omit} />
        )}
        <Older records={records} empty={empty} resource={omit} />
      </>
    )}
  </Loaded>
)

/** `resource` is one that all records have. The link to the rest of the audit keeps it. */
const Older = ({
  records,
  empty,
  resource,
}: {
  readonly records: Records
  readonly empty: string
  readonly resource: string
}) => {
  const { isRunning, fault } = records.search.value
  const known = records.known.value
  const ofAudit = { page: 'audit', projectId: '', worldId: '', tab: 'now', until: untilOlder(known) } as const
  return (
    <div class="older">
      <p role="status" class={known.records.length === 0 && known.next === undefined ? 'empty' : 'muted small'}>
        {isRunning ? 'Reading older changes…' : describe(known, empty)}
      </p>
      {fault !== undefined && <FaultNotice what="The older changes" fault={fault} onRetry={records.readOlder} />}
      {mayGrow(known) && fault === undefined && (
        <button type="button" aria-disabled={isRunning} onClick={records.readOlder}>
          {known.records.length === 0 ? 'Search older changes' : 'Show older changes'}
        </button>
      )}
      {known.next !== undefined && !mayGrow(known) && (
        <a href={hrefOf({ ...ofAudit, ...(resource !== '' && { resource }) })}>Older changes</a>
      )}
    </div>
  )
}

const describe = ({ records, next }: RecordPage, empty: string): string => {
  if (records.length > 0) {
    return `${formatCount(records.length, 'change')}, newest first${next === undefined ? '' : '. There may be older ones'}.`
  }
  return next === undefined ? empty : 'None of the newest changes matches. Older ones were not compared yet.'
}
