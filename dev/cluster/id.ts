import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asAdministrator } from '#dev/kubernetes/administrator.ts'
import { stateVariable } from '#dev/process.ts'
import { until } from '#dev/until.ts'
import { isNotFound } from '#shared/kube/errors.ts'

const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' }
const timeoutMs = 30_000

/** Returns the eight hexadecimal digits in the name of everything that a stack creates outside its state folder. */
export const idOf = (stateDir: string): string => createHash('sha256').update(stateDir).digest('hex').slice(0, 8)

/**
 * Binds the state folder to the cluster, which is identified by the uid of its oldest namespace. Throws for another
 * cluster: it lacks the worlds of the kept database, so they would be treated as deleted.
 */
export const keepToCluster = async (kubeconfig: string, stateDir: string): Promise<void> => {
  const file = join(stateDir, 'cluster')
  const uid = await uidOf(kubeconfig)
  if (!existsSync(file)) writeFileSync(file, uid)
  if (readFileSync(file, 'utf8') === uid) return
  throw new Error(
    `The data in ${stateDir} belongs to another cluster than that of ${kubeconfig}, where its worlds would count as ` +
      `deleted. Set ${stateVariable} to another folder, or start with --reset to forget the data.`,
  )
}

const uidOf = (kubeconfig: string): Promise<string> =>
  asAdministrator(kubeconfig, async (client) => {
    // A new control plane creates its namespaces a moment after its start. Any other failure is thrown at once.
    const look = () =>
      client(namespaces)
        .get({ name: 'kube-system' })
        .then(({ metadata }) => ({ uid: metadata.uid ?? '' }))
        .catch((failure: unknown) => (isNotFound(failure) ? undefined : { failure }))
    const seen = await until('the namespace kube-system', look, timeoutMs)
    if ('uid' in seen) return seen.uid
    const why = seen.failure instanceof Error ? seen.failure.message : String(seen.failure)
    throw new Error(`The cluster of ${kubeconfig} cannot be used: ${why}`, { cause: seen.failure })
  })
