import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { AuditQuery } from '#console/state/audit.ts'
import { loadOnChange } from '../../live/loader.ts'
import { createRecords, type Records } from '../../live/records.ts'
import type { Session } from '../../live/session.ts'

/** Returns the records of a query. They are read while the component is mounted, and again when the version changes. */
export const useRecords = ({ client }: Session, query: AuditQuery, version: ReadonlySignal<string>): Records => {
  const [records] = useState(() => createRecords(client, query))
  useEffect(() => {
    const end = loadOnChange(records.newest, version)
    return () => {
      end()
      records.close()
    }
  }, [records, version])
  return records
}
