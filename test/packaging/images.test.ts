import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImageName, imageNames } from '#dev/images/files.ts'
import { type ProductImage, packProductImages } from '#dev/images/image.ts'
import { productVersion } from '#shared/version.ts'

type Component = { type: string; name: string; version?: string; hashes?: { content: string }[]; components?: object[] }
type Unpacked = { config: { User: string; Labels: Record<string, string> }; layers: Buffer[]; root: string }

const dir = mkdtempSync(join(tmpdir(), 'orrery-image-'))
const revision = 'c0ffee'.padEnd(40, '0')
const maxBytes = { orrery: 75e6, 'world-server': 60e6, bot: 60e6 } as const satisfies Record<ImageName, number>
const titles = { orrery: 'Orrery', 'world-server': 'Orrery world server', bot: 'Orrery bot' } as const
const run = (command: string, args: string[]): string => execFileSync(command, args, { encoding: 'utf8' })
const digest = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Builds each image into an archive of its own, as `npm run images` does. */
const buildAll = async (folder: string) => {
  const images = {} as Record<ImageName, ProductImage>
  for (const name of imageNames) images[name] = (await packProductImages(folder, [name], { revision }))[name]
  return images
}

const unpack = (name: ImageName, { tarFile }: ProductImage): Unpacked => {
  const [archive, root] = [join(dir, `${name}-archive`), join(dir, `${name}-root`)]
  for (const path of [archive, root]) mkdirSync(path)
  run('tar', ['-xf', tarFile, '-C', archive])
  const [{ Config, Layers }] = JSON.parse(readFileSync(join(archive, 'manifest.json'), 'utf8')) as [
    { Config: string; Layers: string[] },
  ]
  for (const layer of Layers) run('tar', ['-xf', join(archive, layer), '-C', root])
  const { config } = JSON.parse(readFileSync(join(archive, Config), 'utf8')) as Pick<Unpacked, 'config'>
  return { config, layers: Layers.map((layer) => readFileSync(join(archive, layer))), root }
}

const listed = (root: string): Component[] => {
  const sbom = JSON.parse(readFileSync(join(root, 'opt/orrery/sbom.cdx.json'), 'utf8'))
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 })
  return sbom.components
}

let first: Record<ImageName, ProductImage>
const unpacked = {} as Record<ImageName, Unpacked>
beforeAll(async () => {
  first = await buildAll(join(dir, 'first'))
  for (const name of imageNames) unpacked[name] = unpack(name, first[name])
}, 300_000)
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('two builds of each image have the same digest', async () => {
  const second = await buildAll(join(dir, 'second'))
  for (const name of imageNames) {
    expect(second[name].reference).toBe(first[name].reference)
    expect(digest(second[name].tarFile)).toBe(digest(first[name].tarFile))
  }
}, 300_000)

test.each(imageNames)(
  'the image %s is compressed below its limit',
  (name) => {
    const bytes = unpacked[name].layers.reduce((sum, layer) => sum + gzipSync(layer).length, 0)
    process.stderr.write(`[images] ${name}: ${(bytes / 1e6).toFixed(1)} MB compressed\n`)
    expect(bytes).toBeLessThan(maxBytes[name])
  },
  120_000,
)

test.each(imageNames)('the image %s runs without rights, and its labels name version and revision', (name) => {
  expect(unpacked[name].config).toMatchObject({
    User: '65532:65532',
    Labels: {
      'org.opencontainers.image.title': titles[name],
      'org.opencontainers.image.version': productVersion,
      'org.opencontainers.image.revision': revision,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.vendor': 'Orrery',
    },
  })
})

test.each(imageNames)('the image %s lists its content: Node, each file of its base, and its packages', (name) => {
  const { root } = unpacked[name]
  const components = listed(root)
  const hashOf = (component?: Component) => component?.hashes?.[0]?.content
  expect(hashOf(components.find((each) => each.name === 'node'))).toBe(digest(join(root, 'opt/orrery/bin/node')))
  const files = run('find', [root, '-type', 'f', '-not', '-path', `${root}/opt/*`, '-printf', '/%P\n'])
    .trim()
    .split('\n')
  const ofBase = components.filter(({ type }) => type === 'file')
  expect(ofBase.map((each) => each.name).sort()).toEqual(files.sort())
  for (const each of ofBase) expect(hashOf(each), each.name).toBe(digest(join(root, each.name)))
  const packages = components.filter(({ type }) => type === 'library').map((each) => `${each.name}@${each.version}`)
  const installed = run('find', [root, '-path', '*/node_modules/*/package.json']).trim().split('\n').filter(Boolean)
  for (const path of installed) {
    const { name: of, version } = JSON.parse(readFileSync(path, 'utf8')) as Component
    if (version !== undefined) expect(packages).toContain(`${of}@${version}`)
  }
  expect(packages.map((each) => each.replace(/@[^@]*$/, ''))).toEqual(expect.arrayContaining(bundled[name]))
  expect(readFileSync(join(root, 'opt/orrery/sbom.cdx.json'), 'utf8')).toBe(first[name].sbom)
})

/** Some packages whose code is in the bundles. */
const bundled: Record<ImageName, string[]> = {
  orrery: ['hono', 'pg', 'zod', 'sharp', 'preact'],
  'world-server': ['ws'],
  bot: [],
}

test('the console is beside the API, with its compressed forms', () => {
  const files = run('find', [join(unpacked.orrery.root, 'opt/orrery/console'), '-type', 'f', '-printf', '%P\n'])
  expect(files.trim().split('\n')).toEqual(
    expect.arrayContaining([
      'index.html',
      'index.html.br',
      'index.html.gz',
      expect.stringMatching(/^assets\/.*\.js\.br$/),
    ]),
  )
})

test('the list of the control plane names the libraries that are compiled into packages', () => {
  const libvips = listed(unpacked.orrery.root).find(({ name }) => name.startsWith('@img/sharp-libvips-'))
  expect(libvips?.components).toContainEqual(expect.objectContaining({ name: 'vips' }))
})

test('the files for the Dockerfile have each library of Node that its base may lack', () => {
  const out = join(dir, 'files')
  run(process.execPath, ['dev/images.ts', '--files', out])
  const needed = run('ldd', [process.execPath]).match(/lib\w+(?=\.so)/g) ?? []
  const ofBase = ['libc', 'libm', 'libdl', 'librt', 'libpthread', 'libgcc_s', 'libstdc']
  for (const name of imageNames) {
    const files = run('find', [join(out, name, 'usr'), '-name', '*.so*', '-printf', '%f\n'])
    for (const each of needed) expect([...ofBase, ...(files.match(/lib\w+/g) ?? [])]).toContain(each)
    const listedFiles = listed(join(out, name)).filter(({ type }) => type === 'file')
    expect(listedFiles).toHaveLength(files.trim().split('\n').length)
  }
})

test.each(imageNames)('the programs of the image %s load all their libraries from it', (name) => {
  const { root } = unpacked[name]
  const loader = join(root, 'lib64/ld-linux-x86-64.so.2')
  const libraries = [...new Set(run('find', [root, '-name', '*.so*']).split('\n').filter(Boolean).map(dirname))].join(
    ':',
  )
  const native = run('find', [root, '-name', '*.node', '-printf', '%P\n']).trim().split('\n').filter(Boolean)
  for (const program of ['opt/orrery/bin/node', ...native]) {
    const said = run(loader, ['--list', '--inhibit-cache', '--library-path', libraries, join(root, program)])
    for (const line of said.split('\n').filter((each) => each.includes('=>'))) {
      expect(line.split('=> ')[1]).toMatch(new RegExp(`^${root}/`))
    }
  }
})
