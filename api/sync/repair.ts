import type { Database } from '#api/platform/database/client.ts'
import type { Clock } from '#shared/clock.ts'
import { createController } from '#shared/kube/controller.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeMetrics } from '#shared/kube/metrics.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Change } from '#shared/kube/store.ts'
import type { Log } from '#shared/log.ts'
import { labels } from '#shared/resources/group.ts'
import { organizationOf } from './identity.ts'
import type { createNamespaces, NamespaceClients, NetworkPolicyOrBinding } from './namespace.ts'
import { ownsNamespace } from './ownership.ts'

const workers = 2
const repairTimeoutMs = 30_000

type RepairOptions = {
  readonly db: Database
  readonly clients: Pick<NamespaceClients, 'networkPolicies' | 'roleBindings'>
  readonly namespaces: ReturnType<typeof createNamespaces>
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KubeMetrics
  readonly signal: AbortSignal
}

/** Watches the RoleBindings and NetworkPolicies of organizations and puts changed or deleted ones back. */
export const repairNamespaces = async (options: RepairOptions): Promise<void> => {
  const { db, clients, namespaces, namespacePrefix, clock, log, metrics, signal } = options
  const common = { clock, random: Math.random, log, metrics, labelSelector: `${labels.managedBy}=orrery-api` }
  const policies = createReflector({ ...common, client: clients.networkPolicies })
  const bindings = createReflector({ ...common, client: clients.roleBindings })
  const controller = createController({
    name: 'repair',
    workers,
    reconcile: async (namespace) => {
      if (!(await ownsNamespace(db, namespacePrefix, namespace))) return undefined
      try {
        await namespaces.repair(namespace)
        log.warn({ namespace }, 'repair: restored role bindings and network policies that others changed')
      } catch (error) {
        if (!isNotFound(error)) throw error
        // The namespace is gone; the next push makes it again.
        namespaces.forget(organizationOf(namespacePrefix, namespace) ?? '')
      }
      return undefined
    },
    reconcileTimeoutMs: repairTimeoutMs,
    backoff: { baseMs: 100, maxMs: 60_000 },
    clock,
    log,
    metrics,
  })
  const check = ({ type, object, initial }: Change<NetworkPolicyOrBinding>): void => {
    const { namespace } = object.metadata
    if (namespace === undefined || (type !== 'deleted' && namespaces.isIntact(object))) return
    controller.enqueue(namespace, { lowPriority: initial })
  }
  policies.onChange(check)
  bindings.onChange(check)
  await Promise.all([policies.run(signal), bindings.run(signal), controller.run(signal)])
}
