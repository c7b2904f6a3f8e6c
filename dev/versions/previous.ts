import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))
const migrations = 'api/platform/database/migrations'

/** The first migration. The later ones must be additive (docs/versions.md). */
export const firstMigration = '0000_initial'

/** A checkout of the previous version. */
export type PreviousVersion = { readonly commit: string; readonly dir: string; remove(): void }

/**
 * Checks out the previous version into a new folder: that of the newest tag `v…` before this commit, or before the first
 * release, the newest commit that changed the first migration. The checkout uses the packages of this one. Without the history
 * of Git, this version stands in for the previous one.
 */
export const checkOutPrevious = (dir: string): PreviousVersion => {
  if (!existsSync(join(project, '.git'))) return { commit: 'this version', dir: project, remove: () => undefined }
  const commit = previousTag() ?? commitOfSchema()
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

/** Returns the newest commit of the main line that changed the first migration; in a shallow clone, the oldest one that it has. */
const commitOfSchema = (): string =>
  git('log', '-1', '--first-parent', '-m', '--format=%h', '--', `${migrations}/${firstMigration}.sql`) || 'HEAD'

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
