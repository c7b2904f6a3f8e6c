import { refusalOf } from '#console/state/rights.ts'
import { type Session, session } from '../../live/session.ts'
import { RecordList } from '../audit/RecordList.tsx'
import { useRecords } from '../audit/useRecords.ts'
import { Refused } from '../Permitted.tsx'
import type { PageState } from './page.ts'

/** The changes of a world, newest first, and who made them. */
export const History = ({ page }: { readonly page: PageState }) => {
  const current = session.value
  const refusal = refusalOf(page.credential, 'listAuditRecords', page)
  if (refusal !== undefined) return <Refused what="who changed the world" refusal={refusal} />
  return current === undefined ? null : <Changes page={page} session={current} />
}

const Changes = ({ page, session }: { readonly page: PageState; readonly session: Session }) => {
  const records = useRecords(session, { resource: page.worldId }, page.version)
  return (
    <RecordList
      records={records}
      credential={page.credential}
      empty="No change of this world is recorded."
      omit={page.worldId}
    />
  )
}
