import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { buildConsole } from '#dev/console/build.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
/** Packages with native code or files of their own, which stay in node_modules. */
export const unbundledPackages = ['sharp', 'swagger-ui-dist']

const options = {
  bundle: true,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node26',
  // Packages in CommonJS refer to this by name.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
} as const satisfies BuildOptions

/**
 * Bundles API, operator and the commands of an administrator into a folder, with the migrations and the console. Bundles start
 * several times faster than hundreds of source files and need half the memory. Returns the folders of the packages in the bundles.
 */
export const bundleProduct = async (outDir: string): Promise<string[]> => {
  const { metafile } = await build({
    ...options,
    entryPoints: {
      api: `${project}api/main.ts`,
      operator: `${project}operator/main.ts`,
      orrery: `${project}api/orrery.ts`,
    },
    outdir: outDir,
    outExtension: { '.js': '.mjs' },
    // Dynamic imports stay separate files, which are loaded when needed.
    splitting: true,
    sourcemap: 'linked',
    external: unbundledPackages,
    // V8 keeps the source, with two bytes for each character if one is not ASCII, as in comments. Short lines tell where an error is.
    minifyWhitespace: true,
    lineLimit: 120,
    legalComments: 'external',
    // undici leaves out its second, experimental parser, as for Node itself.
    define: { esbuildDetection: 'true' },
    logLevel: 'warning',
  })
  // The migrator reads its files from the folder of the program.
  cpSync(`${project}api/platform/database/migrations`, join(outDir, 'migrations'), { recursive: true })
  const ofConsole = await buildConsole(join(outDir, 'console'))
  return [...new Set([...packageFolders(metafile), ...ofConsole])]
}

/** Bundles a program, such as `examples/bot`, into one file. Returns it, and the folders of the packages in it. */
export const bundleProgram = async (program: string): Promise<{ content: Buffer; packages: string[] }> => {
  const bundled = await build({ ...options, entryPoints: [`${project}${program}/main.ts`], write: false })
  const [output] = bundled.outputFiles
  if (output === undefined) throw new Error(`esbuild wrote no bundle of ${program}`)
  return { content: Buffer.from(output.contents), packages: packageFolders(bundled.metafile) }
}

/** Returns the folders of the packages whose code is in a bundle. */
const packageFolders = ({ outputs }: Metafile): string[] => {
  const sources = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  const folders = sources.flatMap((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  return [...new Set(folders)].map((folder) => resolve(folder))
}

/** Returns the files below a folder, by path from it, in a fixed order. */
export const readFolder = (folder: string): Map<string, Buffer> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((path) => [path.slice(folder.length + 1), readFileSync(path)]),
  )
