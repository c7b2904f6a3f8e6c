import { readObject } from '#api/sync/clusters/deletionCause.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { isForbidden } from '#shared/kube/errors.ts'
import type { Log } from '#shared/log.ts'
import { findOpenHostPorts, hostPortPolicy, type Policy, type PolicyBinding } from '#shared/resources/hostPortPolicy.ts'

/** The clients of the admission policies and their bindings. */
export type PolicyClients = {
  readonly policies: Client<Policy>
  readonly policyBindings: Client<PolicyBinding>
}

/**
 * Reads why the admission policy `orrery-host-ports` is not in force, as the end of a sentence, or undefined if it is. Throws if the
 * cluster does not respond.
 */
export const readHostPortProblem = async ({ policies, policyBindings }: PolicyClients): Promise<string | undefined> => {
  const named = { name: hostPortPolicy }
  try {
    return findOpenHostPorts(await readObject(policies, named), await readObject(policyBindings, named))
  } catch (error) {
    if (isForbidden(error)) return 'cannot be read: the account lacks the right to get it and its binding'
    throw error
  }
}

/** The knowledge of whether the policy `orrery-host-ports` is in force in a cluster. */
export type HostPortCheck = {
  /** The interval of the checks while namespaces need the policy. */
  readonly everyMs: number
  /**
   * Reports whether the policy is in force. That it is counts for the interval, unless `fresh` reads the cluster again. Throws if the
   * cluster does not respond.
   */
  isInForce(options?: { readonly fresh: true }): Promise<boolean>
}

type Options = { readonly clock: Clock; readonly log: Pick<Log, 'info' | 'warn'>; readonly everyMs: number }

/** Creates the check of a cluster. It logs each change. */
export const createHostPortCheck = (clients: PolicyClients, { clock, log, everyMs }: Options): HostPortCheck => {
  let last: { readonly problem: string | undefined; readonly atMs: number } | undefined
  return {
    everyMs,
    isInForce: async ({ fresh } = {} as { fresh: true }) => {
      if (!fresh && last?.problem === undefined && last !== undefined && clock.monotonic() - last.atMs < everyMs) {
        return true
      }
      const atMs = clock.monotonic()
      const problem = await readHostPortProblem(clients)
      const policy = hostPortPolicy
      if (problem !== undefined && problem !== last?.problem) {
        const advice = 'worlds with HostPort do not start: install the admission policies of this version'
        log.warn({ policy }, `namespaces get no host ports: the admission policy ${problem}; ${advice}`)
      }
      if (problem === undefined && last?.problem !== undefined) log.info({ policy }, 'namespaces get host ports again')
      last = { problem, atMs }
      return problem === undefined
    },
  }
}
