import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findIn } from '#dev/kubernetes/binaries.ts'
import { noReleaseHost } from './releaseHost.ts'

/** What any machine has on its PATH, of which a start makes use. */
const basics = ['tar', 'gzip', 'ldd', 'sh']

/**
 * A machine that has Node and npm and nothing of Kubernetes: no Go, no kubectl, no docker, an empty cache, and no release
 * host within reach. What a test gives to it is what a source consists of.
 */
export const createBareMachine = () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bare-'))
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const name of basics) {
    const found = findIn(folders, name)
    if (found !== undefined) symlinkSync(found, join(bin, name))
  }
  return {
    environment: {
      PATH: bin,
      XDG_CACHE_HOME: join(dir, 'cache'),
      KUBEBUILDER_ASSETS: '',
      DOCKER_HOST: '',
      ...noReleaseHost,
    },
    /** Gives it a docker command whose k3s is that cluster, and a look at what the command was asked and did. */
    hasDocker: (cluster: { kubeconfig: string; kubectl: string }) => {
      const state = join(dir, 'docker')
      mkdirSync(state)
      writeFileSync(join(state, 'cluster.json'), JSON.stringify(cluster))
      const standIn = fileURLToPath(new URL('./dockerStandIn.ts', import.meta.url))
      writeFileSync(join(bin, 'docker'), `#!/bin/sh\nexec '${process.execPath}' '${standIn}' '${state}' "$@"\n`)
      chmodSync(join(bin, 'docker'), 0o755)
      return {
        state,
        imported: join(state, 'imported.tar'),
        /** The files of the containers that run; in each is the id of its process. */
        containers: (): string[] => readdirSync(state).filter((name) => name.startsWith('container-')),
        asked: (): string[][] =>
          readFileSync(join(state, 'asked.jsonl'), 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as string[]),
      }
    },
    remove: (): void => rmSync(dir, { recursive: true, force: true }),
  }
}
