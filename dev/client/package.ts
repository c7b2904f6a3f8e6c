import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Builds the client package of a checkout and packs it into `outDir` as npm does: ES modules with their types, for Node 20
 * and browsers. The version is that of the checkout. Returns the path of the tarball.
 */
export const packClient = ({ checkout, outDir }: { checkout: string; outDir: string }): string => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-client-'))
  try {
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc')
    const config = join(checkout, 'client/tsconfig.build.json')
    execFileSync(process.execPath, [tsc, '--project', config, '--outDir', dir])
    for (const file of globSync('**/*.d.ts', { cwd: dir })) rewriteImports(join(dir, file))
    writeFileSync(join(dir, 'package.json'), `${JSON.stringify(manifestOf(checkout), null, 2)}\n`)
    cpSync(join(checkout, 'client/README.md'), join(dir, 'README.md'))
    cpSync(join(checkout, 'LICENSE'), join(dir, 'LICENSE'))
    mkdirSync(outDir, { recursive: true })
    const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', outDir], { cwd: dir, encoding: 'utf8' })
    const [{ filename }] = JSON.parse(packed)
    return join(outDir, filename)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** tsc rewrites the extensions of relative imports in modules, but not in declarations. */
const rewriteImports = (file: string): void =>
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from ')(\.[^']*)\.ts'/g, "$1$2.js'"))

const manifestOf = (checkout: string): object => {
  const { version, license, dependencies } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const entry = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })
  return {
    name: '@orrery/client',
    version,
    description: 'Typed client of the REST and realtime API of Orrery',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { '.': entry('client'), './realtime': entry('realtime'), './package.json': './package.json' },
    dependencies: { bs58: dependencies.bs58 },
    publishConfig: { access: 'public' },
  }
}
