import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { imageFiles, imageNames } from './images/files.ts'
import { extraLibraries, packProductImages } from './images/image.ts'

// `npm run images` writes each image to dist/images as an archive for `docker load` and `ctr images import`, and the list of its
// content.
// `--files <folder>` writes the content of each image to a folder instead, from which the Dockerfile copies it.
const { values } = parseArgs({ options: { files: { type: 'string' } } })
const outDir = fileURLToPath(new URL('../dist/images', import.meta.url))

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Returns the commit of this checkout, or undefined without the history of Git. */
const readRevision = (): string | undefined => {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

for (const name of imageNames) {
  if (values.files !== undefined) {
    const libraries = extraLibraries()
    const { node, files } = await imageFiles(name, outDir, libraries)
    for (const { path, mode, content } of [node, ...files, ...libraries]) {
      const target = join(values.files, name, path)
      mkdirSync(dirname(target), { recursive: true })
      rmSync(target, { force: true })
      writeFileSync(target, content ?? '', { mode })
    }
    continue
  }
  const { reference, tarFile, sbom } = (await packProductImages(outDir, [name], { revision: readRevision() }))[name]
  writeFileSync(join(outDir, `${name}.cdx.json`), sbom)
  const archive = readFileSync(tarFile)
  const digest = createHash('sha256').update(archive).digest('hex')
  const size = `${mebibytes(archive.length)}, compressed ${mebibytes(gzipSync(archive).length)}`
  process.stdout.write(`${reference}\n  ${tarFile}\n  ${size}, sha256:${digest}\n`)
}
