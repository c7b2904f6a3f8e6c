import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packClient } from './client/package.ts'
import { obtainGoProgram } from './goPrograms.ts'
import {
  packChart,
  packImages,
  type Release,
  signChecksums,
  writeChecksums,
  writeOpenApi,
} from './release/artifacts.ts'
import { changelogSection, withSection } from './release/changelog.ts'
import { requireVersion, setVersions } from './release/versions.ts'

// `npm run release -- <version>` sets the version in this checkout and writes the artifacts to dist/release/<version>.
// With --dry-run it does the same in a copy of the last commit, and changes nothing here but that folder.
const project = fileURLToPath(new URL('..', import.meta.url))
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const git = (cwd: string, ...args: string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()

const copyLastCommit = (): { dir: string; remove(): void } => {
  const dir = join(mkdtempSync(join(tmpdir(), 'orrery-release-')), 'checkout')
  git(project, 'worktree', 'add', '--detach', dir)
  symlinkSync(join(project, 'node_modules'), join(dir, 'node_modules'))
  return { dir, remove: () => void git(project, 'worktree', 'remove', '--force', dir) }
}

const commitsSinceRelease = (): { hash: string; subject: string }[] => {
  const tag = git(project, 'tag', '--list', 'v*', '--sort=-version:refname').split('\n')[0]
  const range = tag ? [`${tag}..HEAD`] : []
  return git(project, 'log', '--no-merges', '--format=%h %s', ...range)
    .split('\n')
    .map((line) => ({ hash: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }))
}

const writeChangelog = (checkout: string, version: string): void => {
  const file = join(checkout, 'CHANGELOG.md')
  const date = new Date().toISOString().slice(0, 10)
  const section = changelogSection(version, date, commitsSinceRelease())
  writeFileSync(file, withSection(existsSync(file) ? readFileSync(file, 'utf8') : '', section))
}

const release = async (version: string, checkout: string): Promise<void> => {
  const outDir = join(project, 'dist/release', version)
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  setVersions(checkout, version)
  for (const generator of ['crds', 'chart', 'client'])
    execFileSync(process.execPath, [`dev/${generator}.ts`], { cwd: checkout })
  writeChangelog(checkout, version)
  const made: Release = {
    version,
    checkout,
    outDir,
    helm: await obtainGoProgram('helm', { env: process.env, progress: say }),
  }
  for (const pack of [packChart, packImages, writeOpenApi, packClient]) pack(made)
  writeFileSync(join(outDir, 'CHANGELOG.md'), readFileSync(join(checkout, 'CHANGELOG.md')))
  const checksums = writeChecksums(made)
  say(readFileSync(checksums, 'utf8').trimEnd())
  say(signChecksums(checksums, process.env))
}

const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true })
const version = requireVersion(positionals[0])
if (values['dry-run']) {
  const copy = copyLastCommit()
  try {
    await release(version, copy.dir)
  } finally {
    copy.remove()
  }
} else {
  if (git(project, 'status', '--porcelain') !== '') throw new Error('Commit or discard all changes before a release.')
  await release(version, project)
  say(`Now review and publish:\n  git commit -am 'chore(release): ${version}' && git tag v${version}`)
}
