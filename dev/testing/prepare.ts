import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { obtainGatewayDefinitions } from '#dev/gateway/definitions.ts'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { missingForContainerd } from '#dev/node/index.ts'
import { findServicePrograms } from '#dev/node/services.ts'
import type { Stage } from './suite.ts'

const attempts = 3
const npmTimeoutMs = 120_000

/** Something that tests need and that is downloaded or built. */
type Need = {
  readonly name: string
  readonly stages: readonly Stage[]
  readonly obtain: (options: { env: NodeJS.ProcessEnv; progress: (line: string) => void }) => Promise<unknown>
}

const servers: readonly Stage[] = [
  'integration',
  'faults',
  'timing',
  'clients',
  'model',
  'specs',
  'pictures',
  'soak',
  'crash',
]

const needs: readonly Need[] = [
  {
    name: 'the control plane of Kubernetes',
    stages: [...servers, 'packaging', 'values', 'e2e', 'gateway'],
    obtain: (options) =>
      resolveBinaries(['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler'], options),
  },
  {
    name: 'the nodes of Kubernetes',
    stages: ['e2e', 'gateway'],
    obtain: async (options) => {
      await resolveBinaries(['kwok'], options)
      if (missingForContainerd(options.env).length > 0) return
      await resolveBinaries(['kubelet'], options)
      await findServicePrograms(options)
    },
  },
  { name: 'versitygw', stages: servers, obtain: (options) => obtainGoProgram('versitygw', options) },
  { name: 'Helm', stages: ['packaging', 'values'], obtain: (options) => obtainGoProgram('helm', options) },
  { name: 'promtool', stages: ['packaging'], obtain: (options) => obtainGoProgram('promtool', options) },
  { name: 'Caddy', stages: ['packaging'], obtain: (options) => obtainGoProgram('caddy', options) },
  {
    name: 'Traefik',
    stages: ['gateway'],
    obtain: async (options) => {
      await obtainGoProgram('traefik', options)
      obtainGatewayDefinitions(options.env)
    },
  },
  // Tests install the packed client into an empty project.
  { name: 'the dependencies of the client package', stages: ['integration'], obtain: async () => cachePackages() },
]

/**
 * Downloads or builds what the stages need and the caches lack, since there is no network in the namespaces. Each need is tried up to
 * three times. Returns false, after `say` got the reasons, if one could not be obtained.
 */
export const prepare = async (stages: readonly Stage[], say: (line: string) => void): Promise<boolean> => {
  const options = { env: process.env, progress: (line: string) => say(`[prepare] ${line}`) }
  for (const { name, obtain } of needs.filter((need) => need.stages.some((stage) => stages.includes(stage)))) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await obtain(options)
        break
      } catch (error) {
        const { message } = error as Error
        say(`Preparing ${name} failed (attempt ${attempt} of ${attempts}): ${message}`)
        if (attempt === attempts) {
          say(`The tests did not run, since ${name} could not be obtained. The messages above say why.`)
          say('0 passed, 1 failed')
          return false
        }
      }
    }
  }
  return true
}

/** Installs the package on which the client depends into a folder, so that the cache of npm has what the tests install. */
const cachePackages = (): void => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }
  const dir = mkdtempSync(join(tmpdir(), 'orrery-prepare-'))
  const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  try {
    execFileSync('npm', ['install', ...quietly, '--prefix', dir, `bs58@${dependencies.bs58}`], {
      stdio: 'pipe',
      timeout: npmTimeoutMs,
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
