import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packClient } from '#dev/client/package.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const tsc = join(checkout, 'node_modules/typescript/bin/tsc')

const typeRoots = [join(checkout, 'node_modules/@types')]
const forNode = { module: 'nodenext', lib: ['es2023'], types: ['node'], typeRoots }
const forBrowsers = { module: 'esnext', lib: ['es2023', 'dom', 'dom.iterable'], types: [] }

/** Creates an empty project outside of the checkout and installs the packed client into it, as `npm install` does. */
export const aClientProject = () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-client-project-'))
  const tarball = packClient({ checkout, outDir: dir })
  const write = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text)
    return join(dir, name)
  }
  write('package.json', '{ "private": true, "type": "module" }')
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  execFileSync('npm', ['install', ...quietly, '--prefix', dir, tarball], { cwd: dir, encoding: 'utf8' })
  return {
    dir,
    /** Writes a file of the project and returns its path. */
    write,
    /**
     * Type-checks a file in strict mode, with the declarations of the packages: `nodenext` with the types of Node, and
     * `bundler` with those of browsers. Throws an Error with the output of tsc.
     */
    checkTypes: (file: string, moduleResolution: 'nodenext' | 'bundler'): void => {
      const compilerOptions = {
        ...(moduleResolution === 'nodenext' ? forNode : forBrowsers),
        moduleResolution,
        target: 'es2023',
        strict: true,
        noEmit: true,
        skipLibCheck: false,
      }
      const config = write(`tsconfig.${moduleResolution}.json`, JSON.stringify({ compilerOptions, files: [file] }))
      try {
        execFileSync(process.execPath, [tsc, '--project', config], { cwd: dir, encoding: 'utf8' })
      } catch (error) {
        throw new Error(`${file} has type errors: ${Reflect.get(Object(error), 'stdout')}`)
      }
    },
    remove: (): void => rmSync(dir, { recursive: true, force: true }),
  }
}
