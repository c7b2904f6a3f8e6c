import { objectKey } from '#shared/kube/objects.ts'
import type { Simulator } from './simulator.ts'

/** Watches the servers of a namespace that has one world, in every cluster, and remembers when two existed at the same time. */
export const watchServers = (simulators: readonly Simulator[], namespace: string) => {
  const present = new Set<string>()
  const violations: string[] = []
  for (const [at, { onPodChange }] of simulators.entries()) {
    onPodChange(({ type, object }) => {
      const { metadata } = object
      if (metadata.namespace !== namespace || metadata.labels?.['app.kubernetes.io/component'] !== 'world') return
      const server = `${objectKey(metadata)} in cluster ${at + 1}`
      if (type === 'deleted') present.delete(server)
      else present.add(server)
      if (present.size > 1) violations.push(`two servers: ${[...present].join(' and ')}`)
    })
  }
  return { violations: (): readonly string[] => violations }
}
