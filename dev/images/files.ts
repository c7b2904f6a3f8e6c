import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram } from '#dev/programs.ts'
import { productVersion } from '#shared/version.ts'
import { bundleProduct, bundleProgram, readFolder, unbundledPackages } from './bundle.ts'
import { type Package, sbomOf } from './sbom.ts'
import type { TarEntry } from './tar.ts'

/** The images of the product. */
export const imageNames = ['orrery', 'world-server', 'bot'] as const
export type ImageName = (typeof imageNames)[number]

/** The contents of an image on top of its base, for the Dockerfile and for archives made without one. */
export type ImageFiles = {
  readonly title: string
  /** The Node binary, which all images share. */
  readonly node: TarEntry
  readonly files: readonly TarEntry[]
  /** The list of the content in the format CycloneDX, which is one of the files too. */
  readonly sbom: string
  readonly entrypoint: readonly string[]
}

/** The folder of installed packages. */
export const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
const home = 'opt/orrery'
const node = `/${home}/bin/node`
/** Parts of packages that no program reads. */
const unused = /\.(d\.[cm]?ts|map|md|txt)$|^(src|install|dist|docs)\/.*\.(c|cc|h)$|^src\//
const swaggerFiles = /^(swagger-ui\.css|swagger-ui-bundle\.js|package\.json|LICENSE|NOTICE)$/

/**
 * Returns the files of an image. The cache folder keeps the Node binary without its debug symbols. `base` has the files below
 * them, unless the base is another image.
 */
export const imageFiles = async (
  name: ImageName,
  cacheDir: string,
  base: readonly TarEntry[] = [],
): Promise<ImageFiles> => {
  const node = nodeFile(cacheDir)
  const { title, files, packages, entrypoint } = await contentOf(name)
  const version = process.version.slice(1)
  const content = { title, version: productVersion, node: { version, file: node }, packages: packages.map(read), base }
  const sbom = JSON.stringify(sbomOf(content), null, 2)
  return { title, node, files: [...files, file('sbom.cdx.json', Buffer.from(sbom))], sbom, entrypoint }
}

/** Returns the files and the command of an image that runs a program of the tests with Node. Its base has the libraries. */
export const programFiles = async (program: string, cacheDir: string) => {
  const main = file('main.mjs', (await bundleProgram(program)).content)
  return { files: [nodeFile(cacheDir), main], entrypoint: [node, `/${main.path}`] }
}

const nodeFile = (cacheDir: string): TarEntry => file('bin/node', readFileSync(nodeBinary(cacheDir)), 0o755)

const contentOf = async (name: ImageName) => {
  if (name === 'orrery') {
    const { files, packages } = await productFiles()
    const unbundled = packagesOf(unbundledPackages).map((each) => join(modules, each))
    const all = { files: [...files, ...packageFiles()], packages: [...packages, ...unbundled] }
    return { ...all, title: 'Orrery', entrypoint: [node] }
  }
  const title = name === 'bot' ? 'Orrery bot' : 'Orrery world server'
  const { content, packages } = await bundleProgram(`examples/${name}`)
  const main = file('main.mjs', content)
  return { title, files: [main], packages, entrypoint: [node, `/${main.path}`] }
}

/** Reads what a package says of itself. Those with native code list the libraries in it in versions.json. */
const read = (folder: string): Package => {
  const parse = <T>(name: string): T => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T
  const { name, version, license } = parse<Package>('package.json')
  const libraries = existsSync(join(folder, 'versions.json')) && parse<Record<string, string>>('versions.json')
  return { name, version, ...(license && { license }), ...(libraries && { libraries }) }
}

const file = (path: string, content: Buffer, mode = 0o644): TarEntry => ({ path: `${home}/${path}`, mode, content })

const productFiles = async (): Promise<{ files: TarEntry[]; packages: string[] }> => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bundle-'))
  try {
    const packages = await bundleProduct(dir)
    const files = [...readFolder(dir)]
      .filter(([path]) => !path.endsWith('.map') && !path.startsWith('migrations/meta/0'))
      .map(([path, content]) => file(path, content))
    return { files, packages }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const packageFiles = (): TarEntry[] =>
  packagesOf(unbundledPackages).flatMap((name) =>
    [...readFolder(join(modules, name))]
      .filter(([path]) => (name === 'swagger-ui-dist' ? swaggerFiles.test(path) : !unused.test(path)))
      .map(([path, content]) => file(`node_modules/${name}/${path}`, content)),
  )

/** Returns the paths of the packages' native libraries. */
export const nativeLibraries = (): string[] =>
  packagesOf(unbundledPackages).flatMap((name) =>
    readdirSync(join(modules, name), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(node|so[.\d]*)$/.test(path))
      .map((path) => join(modules, name, path)),
  )

type PackageJson = { dependencies?: object; optionalDependencies?: object }

/** Returns the packages and all that they depend on, as far as it is installed for this platform. */
const packagesOf = (names: readonly string[]): string[] => {
  const all = new Set(names)
  for (const name of all) {
    // Swagger UI is two files for the browser, which need nothing.
    if (name === 'swagger-ui-dist') continue
    const described = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as PackageJson
    for (const each of Object.keys({ ...described.dependencies, ...described.optionalDependencies })) {
      if (existsSync(join(modules, each))) all.add(each)
    }
  }
  return [...all].sort()
}

/** Returns the path of this process's Node binary, without debug symbols if the machine has `strip`. */
const nodeBinary = (cacheDir: string): string => {
  const strip = findProgram(process.env, 'strip')
  if (strip === undefined) return process.execPath
  const stripped = join(cacheDir, `node-${process.version}-${process.arch}-stripped`)
  if (!existsSync(stripped)) {
    mkdirSync(cacheDir, { recursive: true })
    const aside = mkdtempSync(join(cacheDir, '.node-'))
    execFileSync(strip, ['--strip-all', '-o', join(aside, 'node'), process.execPath])
    renameSync(join(aside, 'node'), stripped)
    rmSync(aside, { recursive: true })
  }
  return stripped
}
