/** The names of the statements that are prepared. */
export type StatementNames = {
  /** Counts a use of a statement. Returns its name, or undefined if it has not been used often enough or all names are taken. */
  nameOf(text: string): string | undefined
}

/** The use at which a statement is prepared: the fifth, as in the JDBC driver. */
const minUses = 5
/** The maximum number of statements that a connection keeps prepared. Each takes about 10 KB of memory in Postgres. */
const maxNames = 128
/** The maximum length of the text of a prepared statement. Longer texts contain lists of parameters. */
const maxLength = 4_000
/**
 * Statements that search a queue are planned at each use. A prepared statement keeps the plan that Postgres made while the queue was
 * nearly empty, which reads all of it, until the next automatic analyze.
 */
const searchesQueue = /\b(from|update) "?(cluster_outbox|webhook_deliveries)\b/
/** The maximum number of statements whose uses are counted. Lists of parameters produce any number of texts. */
const maxCounted = 1_024

/**
 * Creates the statement names of a pool. Postgres parses a prepared statement once for each connection and may reuse its plan. For
 * most statements of a request, parsing and planning cost more than execution. Connections share the names, and each prepares a
 * statement when it first executes it under its name.
 */
export const createStatementNames = (): StatementNames => {
  const names = new Map<string, string>()
  const uses = new Map<string, number>()
  return {
    nameOf: (text) => {
      const known = names.get(text)
      if (known !== undefined || names.size >= maxNames || text.length > maxLength) return known
      const count = (uses.get(text) ?? 0) + 1
      if (count >= minUses && !searchesQueue.test(text)) {
        const name = `s${names.size + 1}`
        names.set(text, name)
        uses.delete(text)
        return name
      }
      if (uses.size >= maxCounted) uses.clear()
      uses.set(text, count)
      return undefined
    },
  }
}

type Query = { readonly text: string; readonly name?: string | undefined }

/**
 * Adds the name of its statement to a query, so that the driver prepares it. A query without parameters, which uses the simple
 * protocol, or with its own name is unchanged.
 */
export const withStatementName = (names: StatementNames, query: unknown, values: unknown): unknown => {
  if (!isQuery(query) || query.name !== undefined || !Array.isArray(values) || values.length === 0) return query
  const name = names.nameOf(query.text)
  // Without the driver's copy of the query, field by field, a GET is no faster.
  return name === undefined ? query : { ...query, name }
}

const isQuery = (query: unknown): query is Query =>
  typeof query === 'object' && query !== null && 'text' in query && typeof query.text === 'string'
