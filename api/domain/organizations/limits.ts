import { eq } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import type { Limits } from '#api/domain/access/limits.ts'
import type { Database } from '#api/platform/database/client.ts'
import { type OrganizationRow, organizations } from './table.ts'

/** The age at which cached limits are read again. */
const freshMs = 5_000
const maxEntries = 10_000

type Entry = { readonly limits: Limits; readonly readAtMs: number }

/**
 * Returns the limits of an organization: what the platform set, else the configuration's defaults. Limits that this version
 * does not have are left out.
 */
export const limitsOf = (defaults: Limits, { limits }: Pick<OrganizationRow, 'limits'>): Limits => {
  const known = Object.entries(limits).filter(([name]) => Object.hasOwn(defaults, name))
  return { ...defaults, ...Object.fromEntries(known) }
}

/** Reads the limits of an organization, and whether it is deleted. Returns undefined if it does not exist. */
export const readTenancy = async (
  db: Database,
  defaults: Limits,
  organizationId: string,
): Promise<{ readonly limits: Limits; readonly isDeleted: boolean } | undefined> => {
  const [row] = await db
    .select({ limits: organizations.limits, deletingAt: organizations.deletingAt })
    .from(organizations)
    .where(eq(organizations.id, organizationId))
  return row && { limits: limitsOf(defaults, row), isDeleted: row.deletingAt !== null }
}

/**
 * Returns a look-up of limits that does no I/O, for checks on every request. A change takes effect within about 5 s.
 * Until the first read of an organization is done, its limits are the defaults.
 */
export const createLimitCache = ({
  db,
  clock,
  log,
  defaultLimits,
}: Pick<Deps, 'db' | 'clock' | 'log' | 'defaultLimits'>) => {
  const entries = new Map<string, Entry>()
  const read = async (organizationId: string): Promise<void> => {
    const tenancy = await readTenancy(db, defaultLimits, organizationId)
    if (tenancy === undefined) return
    entries.set(organizationId, { limits: tenancy.limits, readAtMs: clock.monotonic() })
  }
  return (organizationId: string): Limits => {
    const known = entries.get(organizationId)
    if (known !== undefined && clock.monotonic() - known.readAtMs < freshMs) return known.limits
    const limits = known?.limits ?? defaultLimits
    // The entry is renewed first, so that one read is under way at a time.
    entries.delete(organizationId)
    if (entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? '')
    entries.set(organizationId, { limits, readAtMs: clock.monotonic() })
    read(organizationId).catch((error: unknown) => log.warn({ organizationId, err: error }, 'limits were not read'))
    return limits
  }
}
