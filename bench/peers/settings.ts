import { existsSync } from 'node:fs'
import type { ClientLimits } from '#dev/kubernetes/controlPlane.ts'

/** The programs and manifests of a peer. */
export type PeerFiles = { readonly programs: readonly string[]; readonly manifests: readonly string[] }

/** The settings of a run, from the environment. */
export type Settings = {
  readonly count: number
  readonly rounds: number
  readonly perSecond: number
  readonly idleMs: number
  readonly limits: readonly ClientLimits[]
  /** The names of the subjects to measure. Empty for all that are given. */
  readonly only: readonly string[]
  readonly agentSandbox: PeerFiles | undefined
  readonly agones: PeerFiles | undefined
  /** The port on which the Agones controller serves its metrics. It is fixed in its source. */
  readonly agonesPort: number
}

/** Reads the settings. Throws an error that names the variable if a value is invalid or a file is missing. */
export const readSettings = (env: NodeJS.ProcessEnv): Settings => {
  const number = (name: string, usual: number): number => {
    const value = Number(env[name] ?? usual)
    if (!Number.isInteger(value) || value < 1) throw new Error(`${name} must be a whole number above 0: ${env[name]}.`)
    return value
  }
  const files = (name: string): string[] => {
    const paths = list(env[name])
    for (const path of paths) if (!existsSync(path)) throw new Error(`${name}: ${path} does not exist.`)
    return paths
  }
  const peer = (name: string, programs: number): PeerFiles | undefined => {
    const found = files(name)
    if (found.length === 0) return undefined
    if (found.length !== programs) throw new Error(`${name} must have ${programs} paths, separated by commas.`)
    const manifests = files(`${name}_MANIFESTS`)
    if (manifests.length === 0) throw new Error(`${name}_MANIFESTS must name the manifests that install the peer.`)
    return { programs: found, manifests }
  }
  const limits = list(env.ORRERY_PEERS_LIMITS ?? 'raised,default')
  if (!limits.every(isLimits)) throw new Error('ORRERY_PEERS_LIMITS must be raised, default, or both.')
  return {
    count: number('ORRERY_PEERS_OBJECTS', 300),
    rounds: number('ORRERY_PEERS_ROUNDS', 3),
    perSecond: number('ORRERY_PEERS_RATE', 20),
    idleMs: number('ORRERY_PEERS_IDLE_SECONDS', 60) * 1_000,
    limits,
    only: list(env.ORRERY_PEERS_ONLY),
    agentSandbox: peer('ORRERY_PEERS_AGENT_SANDBOX', 1),
    agones: peer('ORRERY_PEERS_AGONES', 2),
    agonesPort: number('ORRERY_PEERS_AGONES_PORT', 8080),
  }
}

const isLimits = (value: string): value is ClientLimits => value === 'raised' || value === 'default'

const list = (text = ''): string[] => text.split(',').filter((part) => part !== '')
