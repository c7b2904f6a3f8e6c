import { inSession } from '#dev/postgres.ts'
import { type Machine, namespace } from './machine.ts'

type Table = { readonly name: string; readonly isOwn: boolean }

/** Checks that the role of a URL owns no table of the product, and can neither drop nor alter one. */
export const expectOwnsNothing = (url: string): Promise<void> =>
  inSession(url, async (sql) => {
    const { rows } = await sql.query<Table>(`
      select relname as name, pg_has_role(relowner, 'member') as "isOwn" from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`)
    if (rows.length === 0) throw new Error('The database has no table, so nothing is known about the role of the API.')
    for (const { name, isOwn } of rows) {
      if (isOwn) throw new Error(`The role of the API has the rights of the owner of the table ${name}.`)
      for (const statement of [`drop table "${name}"`, `alter table "${name}" add column x int`]) {
        const refused = await sql.query(statement).then(
          () => false,
          ({ code }: { code?: string }) => code === '42501',
        )
        if (!refused) throw new Error(`The role of the API is not refused: ${statement}`)
      }
    }
  })

/** Returns the URL of the API's role in the Postgres of a trial, as this machine reaches it. */
export const trialApiUrl = async ({ kubectl }: Machine): Promise<string> => {
  const read = (kind: string, path: string): Promise<string> =>
    kubectl('get', kind, 'orrery-postgres', '-n', namespace, '-o', `jsonpath={${path}}`)
  const url = new URL(Buffer.from(await read('secret', '.data.api-url'), 'base64').toString())
  url.hostname = await read('service', '.spec.clusterIP')
  return url.href
}
