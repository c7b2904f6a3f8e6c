import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const project = fileURLToPath(new URL('../..', import.meta.url))
const modules = join(project, 'node_modules')
/** The folder of the console that the sources of the API serve. */
export const consoleFolder = join(project, 'dist/console')
const cache = join(modules, '.cache/orrery-console')
/** The files that decide what a build contains. */
const sources = ['console', 'client', 'shared', 'package.json', 'package-lock.json', 'dev/console/build.ts']
const buildTimeoutMs = 120_000
/** The time without a use after which the files of other sources are removed from the cache. */
const staleMs = 3_600_000

/**
 * Writes the console to a folder, each file also compressed as `.br` and `.gz`, and returns the folders of the packages in it.
 * Unchanged sources are not built again. Throws an error with one line that names the first fault of the sources.
 */
export const buildConsole = async (outDir: string): Promise<string[]> => {
  const made = join(cache, hashOf(sources.map((each) => join(project, each))))
  if (existsSync(made)) utimesSync(made, new Date(), new Date())
  else await make(made)
  replace(outDir, made)
  const packages = JSON.parse(readFileSync(join(outDir, 'packages.json'), 'utf8')) as { name: string }[]
  return packages.map(({ name }) => join(modules, name))
}

/** The files of a build and their gzipped sizes in bytes. The first load is what `index.html` names, with itself. */
export const consoleSizes = (outDir: string): { firstLoad: number; all: number } => {
  const page = readFileSync(join(outDir, 'index.html'), 'utf8')
  const sizes = filesIn(outDir)
    .filter((file) => file.endsWith('.gz'))
    .map((file) => ({ name: file.slice(0, -'.gz'.length), bytes: statSync(join(outDir, file)).size }))
  const sum = (files: typeof sizes): number => files.reduce((total, { bytes }) => total + bytes, 0)
  return {
    firstLoad: sum(sizes.filter(({ name }) => name === 'index.html' || page.includes(`/console/${name}"`))),
    all: sum(sizes),
  }
}

const make = async (folder: string): Promise<void> => {
  mkdirSync(cache, { recursive: true })
  for (const each of readdirSync(cache)) {
    const path = join(cache, each)
    if (statSync(path).mtimeMs < Date.now() - staleMs) rmSync(path, { recursive: true, force: true })
  }
  const aside = mkdtempSync(join(cache, '.building-'))
  chmodSync(aside, 0o755)
  try {
    await runVite(aside)
    for (const file of filesIn(aside)) if (file !== 'packages.json') compress(join(aside, file))
    move(aside, folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Replaces a folder by a copy. An API that starts meanwhile finds one of them, or for a moment none, but never a part. */
const replace = (folder: string, made: string): void => {
  mkdirSync(dirname(folder), { recursive: true })
  const aside = mkdtempSync(`${folder}-`)
  try {
    cpSync(made, join(aside, 'new'), { recursive: true })
    move(folder, join(aside, 'old'))
    move(join(aside, 'new'), folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Moves a folder if it exists, unless another process has moved its own there meanwhile. */
const move = (from: string, to: string): void => {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Runs Vite in a process of its own, since it keeps much memory and sets NODE_ENV. */
const runVite = async (outDir: string): Promise<void> => {
  const args = [join(modules, 'vite/bin/vite.js'), 'build', 'console', '--outDir', outDir, '--emptyOutDir']
  const options = { cwd: project, env: { ...process.env, NODE_ENV: 'production' }, timeout: buildTimeoutMs }
  await promisify(execFile)(process.execPath, args, options).catch((error: Error & { stderr?: string }) => {
    const lines = (error.stderr ?? '').split('\n').map((line) => line.trim())
    const fault = lines.slice(lines.findIndex((line) => /error/i.test(line))).find((line) => !/^$|:$/.test(line))
    throw new Error(`Vite cannot build the console: ${fault ?? error.message.split('\n')[0]}`, { cause: error })
  })
}

const compress = (file: string): void => {
  const content = readFileSync(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length }
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }))
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()

const hashOf = (paths: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const path of paths) {
    const files = statSync(path).isDirectory() ? filesIn(path).map((file) => join(path, file)) : [path]
    for (const file of files) hash.update(`${file.slice(project.length)}\0`).update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 16)
}
