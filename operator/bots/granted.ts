import type { PodTenant } from '#operator/pods/pod.ts'
import type { BotSize } from '#shared/domain/bots.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'

/** The settings that bots are made of. */
type Template = BotSize & {
  readonly args: readonly string[]
  /** The ids of the grant; undefined outside the namespaces of organizations. */
  readonly tenant?: PodTenant & { readonly botDeploymentId: string }
}

/** The bots that a bot deployment may run if its world has no others. */
export type Permit = {
  /** The number of bots that may exist: those with the lowest indexes. */
  readonly count: number
  /** The settings that new bots are made of; undefined if none may be created. */
  readonly template?: Template
  /** The part that waits for the API, as a sentence. */
  readonly waiting?: string
}

/**
 * Returns the bots that a bot deployment may run. In the namespace of an organization they are those of the spec that the API
 * has granted. Without a valid grant no bot is created, and those that exist stay. Elsewhere they are those of the spec.
 */
export const permitOf = (bots: BotDeployment, policy: NamespacePolicy): Permit => {
  const { count: wanted, cpu, memory, args } = bots.spec
  if (policy.organization === undefined) return { count: wanted, template: { cpu, memory, args } }
  const grant = findGrant(bots, policy)
  if (grant === undefined) {
    return { count: wanted, ...(wanted > 0 && { waiting: 'Waiting for the API to confirm the bots.' }) }
  }
  const count = Math.min(wanted, grant.count)
  const { organizationId, projectId, worldId, botDeploymentId } = grant
  const tenant = { organizationId, projectId, worldId, botDeploymentId }
  const waiting = count < wanted ? `${count} of ${wanted} bots are confirmed by the API.` : undefined
  const template = { cpu: grant.cpu, memory: grant.memory, args: grant.args, tenant }
  return { count, template, ...withDefined({ waiting }) }
}

/** Returns how many of the bots that its world allows a bot deployment takes: none if it may create none. */
export const takenBy = (bots: BotDeployment, policy: NamespacePolicy): number => {
  const { count, template } = permitOf(bots, policy)
  return template === undefined ? 0 : count
}

/** Returns the grant if it is for this resource in this namespace. A copied or restored resource has the grant of another one. */
const findGrant = ({ metadata, spec: { granted } }: BotDeployment, { organization }: NamespacePolicy) =>
  granted?.uid === metadata.uid && granted?.organizationId === organization ? granted : undefined
