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

/** The programs of this repository that run in pods unless a user says otherwise. */
export type ProgramImages = { readonly server: PackedImage; readonly bot: PackedImage }

/**
 * The default world server and the default bot in one file, since what is large in them is the same: the Node binary that
 * runs this process, and that binary's libraries.
 */
export const packProgramImages = async (outDir: string): Promise<ProgramImages> => {
  const node = layerOf([
    file('bin/node', readFileSync(process.execPath), 0o755),
    ...librariesOf(process.execPath).map((path) => file(path.slice(1), readFileSync(path), 0o755)),
  ])
  const image = async (name: string): Promise<Image> => ({
    name: `orrery.dev/${name}`,
    layers: [node, layerOf([file('app/main.mjs', await bundle(name), 0o644)])],
    config: { Entrypoint: ['/bin/node', '/app/main.mjs'], User: nonRoot, WorkingDir: '/app' },
  })
  const [server, bot] = pack(outDir, [await image('world-server'), await image('bot')])
  if (server === undefined || bot === undefined) throw new Error('an image was packed and has no reference')
  return { server, bot }
}

const bundle = async (program: string): Promise<Buffer> => {
  const bundled = await build({
    entryPoints: [fileURLToPath(new URL(`../../examples/${program}/main.ts`, import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    write: false,
  })
  const [output] = bundled.outputFiles
  if (output === undefined) throw new Error(`esbuild wrote no bundle of ${program}`)
  return Buffer.from(output.contents)
}

/** Packs the image of pod sandboxes, a static program that sleeps, because no image can be pulled. */
export const packPauseImage = async (outDir: string): Promise<PackedImage> =>
  packBusybox(outDir, { name: 'orrery.dev/pause', entrypoint: ['/bin/busybox', 'sleep', '1000000000'] })

/** An image that runs what its arguments say, such as `sh -c …`: for tests of servers that misbehave. */
export const packBusyboxImage = async (outDir: string): Promise<PackedImage> =>
  packBusybox(outDir, { name: 'orrery.dev/busybox', entrypoint: ['/bin/busybox'] })

const packBusybox = (outDir: string, { name, entrypoint }: { name: string; entrypoint: string[] }): PackedImage => {
  const layers = [layerOf([file('bin/busybox', readFileSync(busybox), 0o755)])]
  const [image] = pack(outDir, [{ name, layers, config: { Entrypoint: entrypoint, User: nonRoot } }])
  if (image === undefined) throw new Error(`The image ${name} was packed and has no reference`)
  return image
}

const file = (path: string, content: Buffer, mode: number): TarEntry => ({ path, mode, content })

/** The shared libraries of a program, by the paths under which its loader looks for them. */
const librariesOf = (program: string): string[] =>
  execFileSync('ldd', [program], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
    .filter((path) => path !== undefined)

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

type Layer = { readonly digest: string; readonly content: Buffer }
type Image = { readonly name: string; readonly layers: readonly Layer[]; readonly config: object }

const layerOf = (entries: readonly TarEntry[]): Layer => {
  const content = packTar([...foldersOf(entries), ...entries])
  return { digest: sha256(content), content }
}

/** Writes a docker-archive; tags are the hashes of what they name, so an archive that exists already is not written again. */
const pack = (outDir: string, images: readonly Image[]): PackedImage[] => {
  const described = images.map((image) => {
    const config = configOf(image)
    const digest = sha256(config)
    return {
      ...image,
      configFile: file(`${digest}.json`, config, 0o644),
      reference: `${image.name}:${digest.slice(0, 12)}`,
    }
  })
  const names = described.map(({ reference }) => reference.replaceAll(/[/:]/g, '_'))
  const tarFile = join(outDir, `${names.join('+')}.tar`)
  const packed = described.map(({ reference }) => ({ reference, tarFile }))
  if (existsSync(tarFile)) return packed
  const manifest = described.map(({ configFile, reference, layers }) => ({
    Config: configFile.path,
    RepoTags: [reference],
    Layers: layers.map(layerPath),
  }))
  const layers = new Map(described.flatMap((image) => image.layers.map((layer) => [layerPath(layer), layer.content])))
  mkdirSync(outDir, { recursive: true })
  const archive = packTar([
    file('manifest.json', Buffer.from(JSON.stringify(manifest)), 0o644),
    ...described.map(({ configFile }) => configFile),
    ...[...layers].map(([path, content]) => file(path, content, 0o644)),
  ])
  writeFileSync(`${tarFile}.part`, archive)
  renameSync(`${tarFile}.part`, tarFile)
  return packed
}

const layerPath = ({ digest }: Layer): string => `${digest}.tar`

const configOf = ({ layers, config }: Image): Buffer => {
  const created = new Date(0).toISOString()
  return Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      created,
      config,
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) },
      history: layers.map(() => ({ created, created_by: 'orrery' })),
    }),
  )
}

const foldersOf = (entries: readonly TarEntry[]): TarEntry[] => {
  const folders = new Set(
    entries.flatMap(({ path }) => path.split('/').map((_, depth, steps) => steps.slice(0, depth).join('/'))),
  )
  folders.delete('')
  return [...folders].sort().map((path) => ({ path, mode: 0o755 }))
}
