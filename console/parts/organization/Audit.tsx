import { type AuditQuery, toAuditQuery } from '#console/state/audit.ts'
import { toVisible } from '#console/state/visible.ts'
import { place } from '../../live/location.ts'
import { unversioned } from '../../live/organization.ts'
import type { Session } from '../../live/session.ts'
import { AuditFilters } from '../audit/AuditFilters.tsx'
import { RecordList } from '../audit/RecordList.tsx'
import { useRecords } from '../audit/useRecords.ts'
import { Permitted } from '../Permitted.tsx'

/** The changes of the organization, newest first, with the filters of the URL. */
export const Audit = ({ session }: { readonly session: Session }) => (
  <Permitted session={session} operationId="listAuditRecords" what="who changed what in the organization">
    <Filtered session={session} />
  </Permitted>
)

const Filtered = ({ session }: { readonly session: Session }) => {
  const { since, until, door, actor, action, resource } = place.value
  const filter = { since, until, door, actor, action, resource }
  const { query, faults } = toAuditQuery(filter)
  return (
    <>
      <AuditFilters filter={filter} />
      {faults.map((fault) => (
        <p key={fault} role="alert" class="notice">
          {toVisible(fault)}
        </p>
      ))}
      <Changes key={JSON.stringify(query)} session={session} query={query} />
    </>
  )
}

const Changes = ({ session, query }: { readonly session: Session; readonly query: AuditQuery }) => {
  const records = useRecords(session, query, unversioned)
  const isFiltered = Object.keys(query).length > 0
  const empty = isFiltered ? 'No change matches the filters.' : 'No change of this organization is recorded.'
  return <RecordList records={records} credential={session.credential} empty={empty} />
}
