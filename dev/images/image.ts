import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { productVersion } from '#shared/version.ts'
import { type ImageName, imageFiles, modules, nativeLibraries, programFiles } from './files.ts'
import { packTar, type TarEntry } from './tar.ts'

/** An image in a file that a container runtime can import. */
export type PackedImage = { readonly reference: string; readonly tarFile: string }

/** The static program that holds the namespaces of a pod, from Debian's package busybox-static. */
export const busybox = '/bin/busybox'

const nonRoot = '65532:65532'
const certificates = '/etc/ssl/certs/ca-certificates.crt'

/** An image of the product, with the list of its content in the format CycloneDX. */
export type ProductImage = PackedImage & { readonly sbom: string }

/**
 * Packs images of the product into one file, in which they share the Node binary and the libraries. `revision` is the commit that
 * they are made of.
 */
export const packProductImages = async <Name extends ImageName>(
  outDir: string,
  names: readonly Name[],
  { revision }: { revision?: string | undefined } = {},
): Promise<Record<Name, ProductImage>> => {
  const below = baseFiles([process.execPath, ...nativeLibraries()])
  const contents = await Promise.all(names.map((name) => imageFiles(name, outDir, below)))
  const base = layerOf(below)
  const images = contents.map(({ node, files, title, entrypoint }, at) => ({
    name: `orrery.dev/${names[at]}`,
    layers: [base, layerOf([node]), layerOf(files)],
    config: { Entrypoint: entrypoint, User: nonRoot, WorkingDir: '/opt/orrery', Labels: labelsOf(title, revision) },
  }))
  const packed = pack(outDir, images)
  const made = contents.map(({ sbom }, at) => [names[at], { ...packed[at], sbom }])
  return Object.fromEntries(made) as Record<Name, ProductImage>
}

/** The annotations of the OCI image specification. */
const labelsOf = (title: string, revision: string | undefined): Record<string, string> => ({
  'org.opencontainers.image.title': title,
  'org.opencontainers.image.version': productVersion,
  ...(revision && { 'org.opencontainers.image.revision': revision }),
  'org.opencontainers.image.licenses': 'Apache-2.0',
  'org.opencontainers.image.vendor': 'Orrery',
})

/** Returns the files that a base image would have: the C library and others that the programs load, and certificates. */
export const baseFiles = (programs: readonly string[]): TarEntry[] => [
  ...librariesOf(programs).map((path) => file(path.slice(1), readFileSync(path), 0o755)),
  ...(existsSync(certificates) ? [file(certificates.slice(1), readFileSync(certificates), 0o644)] : []),
  file('etc/passwd', Buffer.from('nonroot:x:65532:65532::/:/sbin/nologin\n'), 0o644),
  file('etc/group', Buffer.from('nonroot:x:65532:\n'), 0o644),
  file('etc/nsswitch.conf', Buffer.from('hosts: files dns\n'), 0o644),
]

/** The libraries that the base of the Dockerfile must have: glibc, libstdc++ and libgcc. */
const librariesOfBase = /^(ld-linux|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so)/

/** Returns the libraries that Node loads and that the base of the Dockerfile may lack, in the folders where Debian finds them. */
export const extraLibraries = (): TarEntry[] =>
  librariesOf([process.execPath])
    .filter((path) => !librariesOfBase.test(basename(path)))
    .map((path) => file(`usr${path.replace(/^\/usr/, '')}`, readFileSync(path), 0o755))

/** Packs the image of pod sandboxes, a static program that sleeps, because no image can be pulled. */
export const packPauseImage = async (outDir: string): Promise<PackedImage> =>
  packBusybox(outDir, { name: 'orrery.dev/pause', entrypoint: ['/bin/busybox', 'sleep', '1000000000'] })

/** Packs an image that runs its arguments, such as `sh -c …`, for tests of servers that misbehave. */
export const packBusyboxImage = async (outDir: string): Promise<PackedImage> =>
  packBusybox(outDir, { name: 'orrery.dev/busybox', entrypoint: ['/bin/busybox'] })

/** Packs an image that runs the `main.ts` of a folder of the tests with Node. */
export const packTestProgram = async (
  outDir: string,
  { name, program }: { name: string; program: string },
): Promise<PackedImage> => {
  const { files, entrypoint } = await programFiles(program, outDir)
  return packImage(outDir, { name, layers: [baseFiles([process.execPath]), files], entrypoint })
}

const packBusybox = (outDir: string, { name, entrypoint }: { name: string; entrypoint: string[] }): PackedImage =>
  packImage(outDir, { name, layers: [[file('bin/busybox', readFileSync(busybox), 0o755)]], entrypoint })

/** An image of the tests: the files of each layer, and the command, which runs as an unprivileged account. */
export type ImageContent = {
  readonly name: string
  readonly layers: readonly (readonly TarEntry[])[]
  readonly entrypoint: readonly string[]
  readonly env?: readonly string[]
}

/** Packs an image into a file of its own. */
export const packImage = (outDir: string, { name, layers, entrypoint, env = [] }: ImageContent): PackedImage => {
  const config = { Entrypoint: entrypoint, Env: env, User: nonRoot }
  const [image] = pack(outDir, [{ name, layers: layers.map(layerOf), config }])
  if (image === undefined) throw new Error(`The image ${name} was packed and has no reference`)
  return image
}

const file = (path: string, content: Buffer, mode: number): TarEntry => ({ path, mode, content })

/** Returns the shared libraries of programs, by the paths under which their loader looks for them. */
const librariesOf = (programs: readonly string[]): string[] => {
  const paths = programs.flatMap((program) =>
    execFileSync('ldd', [program], { encoding: 'utf8' })
      .split('\n')
      .map((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1])
      .filter((path) => path !== undefined && !path.startsWith(modules)),
  )
  return [...new Set(paths as string[])].sort()
}

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

type Layer = { readonly digest: string; readonly content: Buffer }
type Image = { readonly name: string; readonly layers: readonly Layer[]; readonly config: object }

const layerOf = (entries: readonly TarEntry[]): Layer => {
  const content = packTar([...foldersOf(entries), ...entries])
  return { digest: sha256(content), content }
}

/** Writes a docker-archive unless it exists. A tag is the hash of the content, so an existing archive is the same. */
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
