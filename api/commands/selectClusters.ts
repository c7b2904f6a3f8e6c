import type { readSyncConfig } from '#api/config.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { withDefined } from '#shared/optional.ts'

/** A cluster of the configuration. */
export type Listed = ReturnType<typeof readSyncConfig>['clusters'][number]

/** Returns the cluster with the name, or all clusters if no name is given. Throws if none has the name. */
export const selectClusters = (clusters: readonly Listed[], name: string | undefined): readonly Listed[] => {
  const chosen = clusters.filter((each) => name === undefined || each.name === name)
  if (chosen.length > 0) return chosen
  throw new Error(
    `The cluster ${name} is not configured. Choose one of: ${clusters.map((each) => each.name).join(', ')}.`,
  )
}

/** Connects a command to a cluster. */
export const connectTo = ({ kubeconfig }: Listed): Transport =>
  createTransport({
    credentials: loadCredentials(process.env, withDefined({ path: kubeconfig })),
    userAgent: 'orrery-command',
  })
