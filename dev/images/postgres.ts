import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { native } from '#dev/postgres.ts'
import { baseFiles, busybox, type PackedImage, packImage } from './image.ts'
import type { TarEntry } from './tar.ts'

const home = 'opt/postgres'

/** Makes the data folder as the official image does, and runs the server. */
const entrypoint = `#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  /${home}/bin/initdb -D "$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 \\
    --encoding=UTF8 --locale=C
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "create database \\"$POSTGRES_DB\\"" | /${home}/bin/postgres --single -D "$PGDATA" postgres
fi
exec /${home}/bin/postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql "$@"
`

/**
 * Packs a Postgres of the npm package as an image that takes the variables and arguments of the official one. It stands in for that
 * image where no registry can be reached. `from` is the folder of the unpacked package: by default, that of this project.
 */
export const packPostgresImage = (outDir: string, from = native()): PackedImage => {
  const files = [
    ...filesBelow(from, 'bin'),
    ...filesBelow(from, 'share'),
    ...filesBelow(from, 'lib/postgresql').filter(({ path }) => path.endsWith('.so')),
    ...libraries(from),
    { path: 'entrypoint', mode: 0o755, content: Buffer.from(entrypoint) },
  ].map((file) => ({ ...file, path: `${home}/${file.path}` }))
  const programs = ['bin/postgres', 'bin/initdb'].map((path) => join(from, path))
  const shell = { path: 'bin/sh', mode: 0o755, content: readFileSync(busybox) }
  return packImage(outDir, {
    name: 'orrery.dev/postgres',
    layers: [[...baseFiles(programs), ...tools(), shell], files],
    entrypoint: [`/${home}/entrypoint`],
    env: ['PATH=/bin', `LD_LIBRARY_PATH=/${home}/lib`],
  })
}

/** The commands of the entrypoint that are not part of its shell. */
const tools = (): TarEntry[] =>
  ['rm'].map((name) => ({ path: `bin/${name}`, mode: 0o755, content: readFileSync(busybox) }))

const filesBelow = (from: string, folder: string): TarEntry[] =>
  readdirSync(join(from, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
    .sort()
    .map((path) => read(from, path))

/** Returns the shared libraries under the names with which programs load them, which are links to some of the files. */
const libraries = (from: string): TarEntry[] => {
  const entries = readdirSync(join(from, 'lib'), { withFileTypes: true })
  const links = entries.filter((entry) => entry.isSymbolicLink())
  const linked = new Set(links.map(({ name }) => readlinkSync(join(from, 'lib', name))))
  return entries
    .map(({ name }) => name)
    .filter((name) => name.includes('.so.') && !linked.has(name))
    .sort()
    .map((name) => read(from, `lib/${name}`))
}

const read = (from: string, path: string): TarEntry => ({
  path,
  mode: path.startsWith('bin/') ? 0o755 : 0o644,
  content: readFileSync(join(from, path)),
})
