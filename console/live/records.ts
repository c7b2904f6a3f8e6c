import { type ReadonlySignal, signal } from '@preact/signals'
import type { Client } from '#client/client.ts'
import { nextQuery } from '#client/pages.ts'
import { type AuditQuery, mayGrow, type RecordPage, withNewest, withOlder } from '#console/state/audit.ts'
import { type Fault, toFault } from '#console/state/worldLoad.ts'
import { createLoader, type Loader } from './loader.ts'

/** The audit records that match a query, newest first. */
export type Records = {
  /** Reads the newest ones, and keeps the older ones that were read before. */
  readonly newest: Loader<RecordPage>
  readonly known: ReadonlySignal<RecordPage>
  /** The search for older records, which `readOlder` starts. */
  readonly search: ReadonlySignal<Search>
  readOlder(): void
  close(): void
}

type Search = { readonly isRunning: boolean; readonly fault?: Fault }

const pageLength = 100
/** The pages that one search reads until one has a record. A page compares up to 1,000 records with the filters. */
const maxEmptyPages = 5

/** Creates the list of the records that match a query, with the client of the organization. */
export const createRecords = (client: Client, query: AuditQuery): Records => {
  const known = signal<RecordPage>({ records: [] })
  const search = signal<Search>({ isRunning: false })
  const ended = new AbortController()
  let isFirst = true

  const read = async (wanted: AuditQuery, signal: AbortSignal): Promise<RecordPage> => {
    const { headers, body } = await client.request('listAuditRecords', { query: wanted, signal })
    const next: AuditQuery | undefined = nextQuery(headers.get('link'))
    return { records: body, ...(next && { next }) }
  }
  const readOlder = async (signal: AbortSignal): Promise<void> => {
    const before = known.peek().records.length
    for (let pages = 0; pages < maxEmptyPages; pages += 1) {
      const { next } = known.peek()
      if (next === undefined || !mayGrow(known.peek())) return
      const page = await read(next, signal)
      // The list has begun anew meanwhile, so the page does not follow it.
      if (known.peek().next !== next) return
      known.value = withOlder(known.peek(), page)
      if (known.peek().records.length > before) return
    }
  }
  const newest = createLoader(async (signal) => {
    const page = await read({ ...query, limit: pageLength }, signal)
    known.value = withNewest(isFirst ? undefined : known.peek(), page)
    if (isFirst && page.records.length === 0) await readOlder(signal)
    isFirst = false
    return known.peek()
  })
  const run = async (): Promise<void> => {
    search.value = { isRunning: true }
    try {
      await readOlder(ended.signal)
      search.value = { isRunning: false }
    } catch (error) {
      if (!ended.signal.aborted) search.value = { isRunning: false, fault: toFault(error) }
    }
  }
  return {
    newest,
    known,
    search,
    readOlder: () => {
      if (!search.peek().isRunning) void run()
    },
    close: () => {
      newest.close()
      ended.abort()
    },
  }
}
