import { Gauge, type Registry } from 'prom-client'
import type { EventRecorder } from '#shared/kube/events.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'

/** The limit of remembered strangers. Further ones are reported each time they change. */
const maxRemembered = 10_000

/** Reports resources that have the name of a row but do not belong to it. */
export type Strangers = {
  /** Logs the resource and records an event on it, once for each uid. */
  report(live: KubeObject): void
  /** Removes a deleted resource from the record. */
  forget(kind: string, key: string): void
}

/** Remembers strangers by kind and key. The metric `orrery_strangers` is their number. */
export const createStrangers = (options: {
  events: Pick<EventRecorder, 'record'>
  log: Log
  registry: Registry
}): Strangers => {
  const { events, log, registry } = options
  const uids = new Map<string, string | undefined>()
  const gauge = new Gauge({
    name: 'orrery_strangers',
    help: 'Resources with the name of a row that belong to another namespace.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  return {
    report: (live) => {
      const { kind, metadata } = live
      const key = `${kind}/${objectKey(metadata)}`
      if (uids.has(key) && uids.get(key) === metadata.uid) return
      if (uids.has(key) || uids.size < maxRemembered) {
        if (!uids.has(key)) gauge.inc({ kind })
        uids.set(key, metadata.uid)
      }
      const { namespace, name, uid } = metadata
      log.warn({ kind, namespace, name, uid }, 'pull: the name belongs to a resource of another namespace; ignored')
      events.record(live, {
        type: 'Warning',
        reason: 'Stranger',
        action: 'Syncing',
        note: 'The API ignores this resource because another resource owns its name. Choose another name.',
      })
    },
    forget: (kind, key) => {
      if (uids.delete(`${kind}/${key}`)) gauge.dec({ kind })
    },
  }
}
