import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '#dev/programs.ts'
import { noReleaseHost } from './releaseHost.ts'

/** The usual programs that `npm start` needs on the PATH. */
const basics = ['tar', 'gzip', 'ldd', 'sh']

/**
 * Returns an environment with Node and npm, but no Go, no kubectl, an empty cache and no reachable release host. A test
 * adds one source.
 */
export const createBareMachine = () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bare-'))
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  for (const name of basics) {
    const found = findProgram(process.env, name)
    if (found !== undefined) symlinkSync(found, join(bin, name))
  }
  return {
    environment: {
      PATH: bin,
      XDG_CACHE_HOME: join(dir, 'cache'),
      KUBEBUILDER_ASSETS: '',
      ...noReleaseHost,
    },
    remove: (): void => rmSync(dir, { recursive: true, force: true }),
  }
}
