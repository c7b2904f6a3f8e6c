/** A statement that the previous version of the API may not survive, and why. */
type Breaking = { readonly pattern: RegExp; readonly why: string }

const breaking: readonly Breaking[] = [
  { pattern: /\bdrop (table|column|type|view)\b/i, why: 'removes something that it uses' },
  { pattern: /\brename\b/i, why: 'renames something that it uses' },
  { pattern: /\bset data type\b|\balter column "?\w+"? type\b/i, why: 'changes a type that it reads' },
  { pattern: /\bset not null\b/i, why: 'requires a value that it does not write' },
  {
    pattern: /\badd column\b(?=[^;]*\bnot null\b)(?![^;]*\bdefault\b)(?![^;]*\bgenerated\b)/i,
    why: 'requires a value that it does not write',
  },
]
/** The mark of a statement that removes what the previous version no longer uses, with the reason. */
const contraction = /^--\s*contract: \S/im

/**
 * Returns a sentence for each statement of a migration that the previous version of the API may not survive. A statement
 * that a comment `-- contract: <reason>` precedes is taken as one that it survives.
 */
export const breakingStatements = (sql: string): string[] =>
  sql
    .split('--> statement-breakpoint')
    .filter((statement) => !contraction.test(statement))
    .flatMap((statement) =>
      breaking
        .filter(({ pattern }) => pattern.test(statement))
        .map(({ why }) => `${statement.trim().slice(0, 120)}: the statement ${why}`),
    )
