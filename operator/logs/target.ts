import { type Pod, type PodRole, runIdOf } from '#operator/pods/pod.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'

/** The cached pods by key (`namespace/name`): servers of worlds, and bots. */
export type PodCaches = {
  readonly servers: { get(key: string): Pod | undefined }
  readonly bots: { get(key: string): Pod | undefined }
}

/** The pod of a ticket and the name of its container. */
export type LogTarget = { readonly pod: Pod; readonly role: PodRole }

/**
 * Returns the pod that a ticket names, or undefined if it is gone. The controller, the run and the uid of the pod must be
 * those of the ticket, so a successor or another owner's pod of the same name is never read.
 */
export const findLogTarget = (ticket: LogTicket, { servers, bots }: PodCaches): LogTarget | undefined => {
  const { namespace, kind, name, uid, runId, podUid, bot } = ticket
  const role = kind === 'World' ? 'server' : 'bot'
  // A server has the name of its world; a bot has that of its deployment, and its index.
  const pod = role === 'server' ? servers.get(`${namespace}/${name}`) : bots.get(`${namespace}/${name}-${bot ?? 0}`)
  if (pod === undefined) return undefined
  const controller = controllerOf(pod)
  const isTarget =
    controller?.kind === kind &&
    controller.uid === uid &&
    (runId === undefined || runIdOf(pod) === runId) &&
    (podUid === undefined || pod.metadata.uid === podUid)
  return isTarget ? { pod, role } : undefined
}
