import { createHash } from 'node:crypto'
import type { TarEntry } from './tar.ts'

/** An npm package, from its package.json. `libraries` are versions of what is compiled into it, by name. */
export type Package = {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly libraries?: Readonly<Record<string, string>>
}

/** The content of an image. */
export type Content = {
  readonly title: string
  readonly version: string
  readonly node: { readonly version: string; readonly file: TarEntry }
  readonly packages: readonly Package[]
  /** The files of the base, unless it is another image, which has a list of its own. */
  readonly base: readonly TarEntry[]
}

/**
 * Returns the list of an image's content in the format CycloneDX 1.6. It has no time and no serial number, so that the same
 * content gives the same bytes.
 */
export const sbomOf = ({ title, version, node, packages, base }: Content): object => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'container', 'bom-ref': 'image', name: title, version } },
  components: [
    {
      type: 'platform',
      'bom-ref': `pkg:generic/node@${node.version}`,
      name: 'node',
      version: node.version,
      licenses: [{ expression: 'MIT' }],
      purl: `pkg:generic/node@${node.version}`,
      hashes: hashesOf(node.file),
    },
    ...packages.map(toComponent).sort((one, other) => (one.purl < other.purl ? -1 : 1)),
    ...base.map((file) => ({
      type: 'file',
      'bom-ref': `/${file.path}`,
      name: `/${file.path}`,
      hashes: hashesOf(file),
    })),
  ],
})

const toComponent = ({ name, version, license, libraries = {} }: Package) => {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const compiledIn = Object.entries(libraries).map(([library, of]) => {
    const id = `pkg:generic/${library}@${of}`
    return { type: 'library', 'bom-ref': `${purl}#${library}`, name: library, version: of, purl: id }
  })
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...(license !== undefined && { licenses: [{ expression: license }] }),
    purl,
    ...(compiledIn.length > 0 && { components: compiledIn }),
  }
}

const hashesOf = ({ content = Buffer.alloc(0) }: TarEntry) => [
  { alg: 'SHA-256', content: createHash('sha256').update(content).digest('hex') },
]
