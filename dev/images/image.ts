import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { packTar, type TarEntry } from './tar.ts'

/** An image as a file that a container runtime imports. */
export type PackedImage = { readonly reference: string; readonly tarFile: string }

/** The static program that holds a pod's namespaces; Debian's package busybox-static. */
export const busybox = '/bin/busybox'

const nonRoot = '65532:65532'

/** The default world server: its bundle, the Node binary that runs this process, and that binary's libraries. */
export const packWorldServerImage = async (outDir: string): Promise<PackedImage> => {
  const bundled = await build({
    entryPoints: [fileURLToPath(new URL('../../examples/world-server/main.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    write: false,
  })
  const [bundle] = bundled.outputFiles
  if (bundle === undefined) throw new Error('esbuild wrote no bundle of the world server')
  const entries = [
    file('app/server.mjs', Buffer.from(bundle.contents), 0o644),
    file('bin/node', readFileSync(process.execPath), 0o755),
    ...librariesOf(process.execPath).map((path) => file(path.slice(1), readFileSync(path), 0o755)),
  ]
  return pack({
    outDir,
    name: 'orrery.dev/world-server',
    entries,
    config: { Entrypoint: ['/bin/node', '/app/server.mjs'], User: nonRoot, WorkingDir: '/app' },
  })
}

/** The image of a pod's sandbox, since none can be pulled: a static program that sleeps until it is told to end. */
export const packPauseImage = async (outDir: string): Promise<PackedImage> =>
  pack({
    outDir,
    name: 'orrery.dev/pause',
    entries: [file('bin/busybox', readFileSync(busybox), 0o755)],
    config: { Entrypoint: ['/bin/busybox', 'sleep', '1000000000'], User: nonRoot },
  })

/** An image that runs what its arguments say, such as `sh -c …`: for tests of servers that misbehave. */
export const packBusyboxImage = async (outDir: string): Promise<PackedImage> =>
  pack({
    outDir,
    name: 'orrery.dev/busybox',
    entries: [file('bin/busybox', readFileSync(busybox), 0o755)],
    config: { Entrypoint: ['/bin/busybox'], User: nonRoot },
  })

const file = (path: string, content: Buffer, mode: number): TarEntry => ({ path, mode, content })

/** The shared libraries of a program, by the paths under which its loader looks for them. */
const librariesOf = (program: string): string[] =>
  execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
    .filter((path) => path !== undefined)

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

/** Writes a docker-archive; its tag is the hash of its content, so an image that exists already is not written again. */
const pack = (image: { outDir: string; name: string; entries: readonly TarEntry[]; config: object }): PackedImage => {
  const layer = packTar([...foldersOf(image.entries), ...image.entries])
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      created: new Date(0).toISOString(),
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created: new Date(0).toISOString(), created_by: 'orrery' }],
    }),
  )
  const digest = sha256(config)
  const reference = `${image.name}:${digest.slice(0, 12)}`
  const tarFile = join(image.outDir, `${image.name.replaceAll('/', '_')}-${digest.slice(0, 12)}.tar`)
  if (existsSync(tarFile)) return { reference, tarFile }
  const manifest = [{ Config: `${digest}.json`, RepoTags: [reference], Layers: ['layer.tar'] }]
  mkdirSync(image.outDir, { recursive: true })
  const archive = packTar([
    file('manifest.json', Buffer.from(JSON.stringify(manifest)), 0o644),
    file(`${digest}.json`, config, 0o644),
    file('layer.tar', layer, 0o644),
  ])
  writeFileSync(`${tarFile}.part`, archive)
  renameSync(`${tarFile}.part`, tarFile)
  return { reference, tarFile }
}

const foldersOf = (entries: readonly TarEntry[]): TarEntry[] => {
  const folders = new Set(
    entries.flatMap(({ path }) => path.split('/').map((_, depth, steps) => steps.slice(0, depth).join('/'))),
  )
  folders.delete('')
  return [...folders].sort().map((path) => ({ path, mode: 0o755 }))
}
