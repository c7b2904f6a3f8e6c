/** A commit: the first line of its message, and its abbreviated hash. */
export type Commit = { readonly hash: string; readonly subject: string }

const sections: Readonly<Record<string, string>> = { feat: 'Features', fix: 'Fixes', perf: 'Performance' }
const conventional = /^(?<type>\w+)(?:\((?<scope>[^)]+)\))?(?<breaking>!)?: (?<text>.+)$/

/**
 * Returns the section of a version in the changelog: breaking changes, features, fixes and performance, by the Conventional
 * Commits 1.0.0 in the subjects. Other types, such as tests, concern no user.
 */
export const changelogSection = (version: string, date: string, commits: readonly Commit[]): string => {
  const entries = commits.flatMap(({ hash, subject }) => {
    const { type = '', scope, breaking, text } = conventional.exec(subject)?.groups ?? {}
    const title = breaking === undefined ? sections[type] : 'Breaking changes'
    return title === undefined
      ? []
      : [{ title, line: `- ${scope === undefined ? '' : `**${scope}**: `}${text} (${hash})` }]
  })
  const parts = ['Breaking changes', ...Object.values(sections)].flatMap((title) => {
    const lines = entries.filter((entry) => entry.title === title).map(({ line }) => line)
    return lines.length === 0 ? [] : [`### ${title}\n\n${lines.join('\n')}`]
  })
  return [`## ${version} (${date})`, ...parts].join('\n\n')
}

const heading = '# Changelog'

/** Returns the changelog with the section first. A section of the same version is replaced. */
export const withSection = (changelog: string, section: string): string => {
  const version = /^## (\S+)/.exec(section)?.[1]
  const older = changelog
    .split(/^(?=## )/m)
    .filter((part) => part.startsWith('## ') && !part.startsWith(`## ${version} `))
    .map((part) => part.trim())
  return `${[heading, section, ...older].join('\n\n')}\n`
}
