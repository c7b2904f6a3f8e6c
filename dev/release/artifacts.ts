import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A checkout whose versions are set, the folder of the artifacts, and the path of Helm. */
export type Release = {
  readonly version: string
  readonly checkout: string
  readonly outDir: string
  readonly helm: string
}

/** Packs the chart, and renders it with values that need no generated secret. */
export const packChart = ({ checkout, outDir, helm }: Release): void => {
  const chart = join(checkout, 'charts/orrery')
  execFileSync(helm, ['package', chart, '--destination', outDir], { stdio: 'ignore' })
  const values = join(checkout, 'dev/release/install.yaml')
  const rendered = execFileSync(helm, [
    'template',
    'orrery',
    chart,
    '--namespace',
    'orrery',
    '--no-hooks',
    '-f',
    values,
  ])
  const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: orrery\n'
  writeFileSync(join(outDir, 'install.yaml'), `${namespace}${rendered}`)
}

/** Packs the images as archives for `docker load` and `ctr images import`, compressed, and the lists of their contents. */
export const packImages = ({ checkout, outDir, version }: Release): void => {
  const folder = join(checkout, 'dist/images')
  // Archives of earlier commits would be packed too.
  rmSync(folder, { recursive: true, force: true })
  runNode(checkout, 'dev/images.ts')
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.tar'))) {
    const name = file.replace(/^orrery\.dev_([a-z-]+)_.*$/, `$1-${version}`)
    writeFileSync(join(outDir, `${name}.tar.gz`), gzipSync(readFileSync(join(folder, file))))
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.cdx.json'))) {
    copyFileSync(join(folder, file), join(outDir, file.replace('.cdx.json', `-${version}.cdx.json`)))
  }
}

/** Writes the OpenAPI document. */
export const writeOpenApi = ({ checkout, outDir }: Release): void => {
  const script = `
    import { openApiDocument } from ${JSON.stringify(join(checkout, 'api/domain/endpoint/document.ts'))}
    import { endpoints } from ${JSON.stringify(join(checkout, 'api/endpoints.ts'))}
    process.stdout.write(JSON.stringify(openApiDocument(endpoints), null, 2))`
  writeFileSync(join(outDir, 'openapi.json'), runNode(checkout, '--input-type=module', '--eval', script))
}

/** Writes the SHA-256 of each artifact, in the format of sha256sum. Returns the path of the file. */
export const writeChecksums = ({ outDir }: Release): string => {
  const file = join(outDir, 'SHA256SUMS')
  const lines = readdirSync(outDir)
    .filter((name) => !name.startsWith('SHA256SUMS'))
    .sort()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(outDir, name)))
          .digest('hex')}  ${name}\n`,
    )
  writeFileSync(file, lines.join(''))
  return file
}

/** Signs the checksums with cosign if COSIGN_KEY names a key. Returns what happened. */
export const signChecksums = (file: string, env: NodeJS.ProcessEnv): string => {
  if (!env.COSIGN_KEY) return 'not signed, since COSIGN_KEY is not set'
  execFileSync('cosign', ['sign-blob', '--yes', '--key', env.COSIGN_KEY, '--output-signature', `${file}.sig`, file], {
    env,
  })
  return `signed: ${file}.sig`
}

const runNode = (checkout: string, ...args: string[]): string =>
  execFileSync(process.execPath, args, { cwd: checkout, encoding: 'utf8', maxBuffer: 2 ** 28 })
