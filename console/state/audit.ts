import type { AuditRecord, Operations } from '#client/operations.ts'
import { parseInstant } from './instant.ts'
import type { Place } from './route.ts'

/** The filters of audit records, as a place has them. An empty one is not set. */
export type AuditFilter = Readonly<Pick<Place, 'since' | 'until' | 'door' | 'actor' | 'action' | 'resource'>>
/** A query of `GET /api/audit/`. */
export type AuditQuery = Readonly<Operations['listAuditRecords']['query']>

type Door = AuditRecord['door']

/** The origins of changes, in words. */
export const doorNames: Readonly<Record<Door, string>> = {
  rest: 'REST',
  kubectl: 'kubectl',
  cli: 'Command orrery',
  system: 'System',
}

/** The authors of changes, in words. */
export const actorNames: Readonly<Record<AuditRecord['actor']['kind'], string>> = {
  platform: 'Platform key',
  key: 'API key',
  user: 'User',
  manager: 'Field manager',
  command: 'Command',
  system: 'Orrery',
}

/** Returns the name of the signed-in credential as the author of a change. It may have made the change before it signed in here. */
export const nameOwn = ({ kind, name = '' }: { readonly kind: string; readonly name?: string | undefined }): string => {
  if (kind === 'user') return name === '' ? 'you' : `${name} (you)`
  return name === '' ? 'this key' : `${name} (this key)`
}

const isDoor = (text: string): text is Door => Object.hasOwn(doorNames, text)

/** Returns the query of filters. A filter that the API would refuse is left out, and has a sentence in `faults`. */
export const toAuditQuery = ({
  since,
  until,
  door,
  actor,
  action,
  resource,
}: AuditFilter): { readonly query: AuditQuery; readonly faults: readonly string[] } => {
  const faults: string[] = []
  const query: AuditQuery = {
    ...instantOf('since', since, faults),
    ...instantOf('until', until, faults),
    ...(isDoor(door) && { door }),
    ...(actor !== '' && { actor }),
    ...(action !== '' && { action }),
    ...(resource !== '' && { resource }),
  }
  if (door !== '' && !isDoor(door)) {
    faults.push(`The origin "${door}" is ignored, because it is none of ${Object.keys(doorNames).join(', ')}.`)
  }
  if (query.since !== undefined && query.until !== undefined && query.since >= query.until) {
    faults.push('No record can match, because "from" is not before "until".')
  }
  return { query, faults }
}

const instantOf = (name: 'since' | 'until', text: string, faults: string[]): { [Name in typeof name]?: string } => {
  if (text === '') return {}
  const ms = parseInstant(text)
  if (!Number.isNaN(ms)) return { [name]: new Date(ms).toISOString() }
  faults.push(`The time "${text}" of "${name}" is ignored. Write it like 2026-11-28T14:00:00Z.`)
  return {}
}

/** Returns an instant as a field for dates and times has it, in the zone of the browser. Empty if the API would refuse it. */
export const toFieldTime = (text: string): string => {
  const ms = parseInstant(text)
  if (Number.isNaN(ms)) return ''
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

/** Returns the instant of a field for dates and times. A field that still shows `present` keeps it, with its milliseconds. */
export const fromFieldTime = (field: string, present: string): string => {
  if (field === '' || Number.isNaN(Date.parse(field))) return ''
  const text = new Date(field).toISOString()
  return toFieldTime(text) === toFieldTime(present) ? present : text
}

const idPattern = /^(wld|prj)-[0-9a-z]{26}$/

/**
 * Returns where a resource of a record leads: a world to its page, a project to its worlds, and anything else to what happened to it.
 * Resources may be parameters of a path, which a caller wrote, so only a whole id leads to a page of its own.
 */
export const placeOfResource = (id: string, projectId: string): Partial<Place> => {
  const kind = idPattern.exec(id)?.[1]
  if (kind === 'wld' && projectId !== '') return { projectId, worldId: id, tab: 'now', run: '' }
  if (kind === 'prj') return { page: 'fleet', projectId: id, worldId: '', tab: 'now', run: '' }
  return { page: 'audit', projectId: '', worldId: '', tab: 'now', resource: id }
}

/** A page of records, newest first, with the query of the next one if there is one. It may be empty all the same. */
export type RecordPage = { readonly records: readonly AuditRecord[]; readonly next?: AuditQuery }

/** The most records that are kept. The rest is reached with an earlier `until`. */
export const maxRecords = 2_000

/** Returns the records with an older page after them. */
export const withOlder = ({ records }: RecordPage, page: RecordPage): RecordPage => ({
  ...page,
  records: [...records, ...page.records],
})

/** Reports whether more records can be added: there are some, and the list is not full. */
export const mayGrow = ({ records, next }: RecordPage): boolean => next !== undefined && records.length < maxRecords

/**
 * Returns the records with the first page as it is now. If more records came than a page has, the list begins anew with the page, so
 * that it has no gap.
 */
export const withNewest = (known: RecordPage | undefined, page: RecordPage): RecordPage => {
  if (known === undefined || page.next === undefined) return page
  const ids = new Set(page.records.map(({ id }) => id))
  const rest = known.records.filter(({ id }) => !ids.has(id))
  const isJoined = rest.length < known.records.length || page.records.length === 0
  if (!isJoined) return page
  // The page has everything since its oldest record, so what it lacks is older.
  return { ...known, records: [...page.records, ...rest].slice(0, maxRecords + page.records.length) }
}

/** Returns the instant just after the oldest record: as `until`, it leads to that record and the older ones. */
export const untilOlder = ({ records }: RecordPage): string => {
  const oldest = records.at(-1)
  return oldest === undefined ? '' : new Date(Date.parse(oldest.createdAt) + 1).toISOString()
}
