import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))
const migrations = 'api/platform/database/migrations'

/** The newest migration of which the older API need not know. The later ones must be additive (docs/versions.md). */
export const baselineMigration = '0010_adoption'

/** A checkout of the previous version. */
export type PreviousVersion = { readonly commit: string; readonly dir: string; remove(): void }

/**
 * Checks out the previous version into a new folder: that of the newest tag `v…` before this commit, or before the first
 * release, the commit that added the baseline migration. The checkout uses the packages of this one. Without the history of
 * Git, this version stands in for the previous one.
 */
export const checkOutPrevious = (dir: string): PreviousVersion => {
  if (!existsSync(join(project, '.git'))) return { commit: 'this version', dir: project, remove: () => undefined }
  const commit = previousTag() ?? baselineCommit()
  git('worktree', 'add', '--detach', dir, commit)
  symlinkSync(join(project, 'node_modules'), join(dir, 'node_modules'))
  return { commit, dir, remove: () => void git('worktree', 'remove', '--force', dir) }
}

const previousTag = (): string | undefined => {
  try {
    return git('describe', '--tags', '--match', 'v*', '--abbrev=0', 'HEAD^')
  } catch {
    // There is no release yet.
    return undefined
  }
}

/** Returns the oldest commit of the main line with the baseline migration; in a shallow clone, the oldest one that it has. */
const baselineCommit = (): string => {
  const added = ['--first-parent', '-m', '--diff-filter=A', '--format=%h']
  const commits = git('log', ...added, '--', `${migrations}/${baselineMigration}.sql`)
  return commits.split('\n').at(-1) || 'HEAD'
}

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
