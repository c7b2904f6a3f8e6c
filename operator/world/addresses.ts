import { type Diagnosis, pendingDiagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { publicPorts, type WorldPort } from '#shared/domain/ports.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import type { WorldAddress, WorldRun } from '#shared/resources/world.ts'
import type { PlanInput, Step } from './step.ts'

/** The steps for the network of a run, its addresses, and why there are none, or why they are the last ones that were known. */
export type Network = {
  readonly steps: readonly Step[]
  readonly requeueAfterMs?: number
  readonly addresses?: WorldAddress[]
  readonly missing?: Diagnosis
}

/** The addresses of a run, or why there are none. */
export type Found = Pick<Network, 'addresses' | 'missing'>

/** Returns the number at which players reach a port, or undefined while it is not known. */
export type NumberOf = (port: WorldPort) => number | undefined

/** Returns a sentence, after a space, about the finalizers that hold an object that is being deleted; empty without any. */
export const heldBy = ({ finalizers = [] }: ObjectMeta): string =>
  finalizers.length === 0 ? '' : ` Finalizer ${finalizers.join(', ')} holds it.`

/** A wait for an address that needs no action. */
export const addressPending = (message: string): Diagnosis => pendingDiagnosis('AddressPending', message)

/** Returns the addresses of the public ports at a host, or undefined if the number of a port is not known yet. */
export const addressesAt = (
  host: string,
  run: WorldRun,
  numberOf: NumberOf = ({ containerPort }) => containerPort,
): { addresses: WorldAddress[] } | undefined => {
  const addresses = publicPorts(run.ports).flatMap((port) => {
    const number = numberOf(port)
    return number === undefined ? [] : [{ name: port.name, protocol: port.protocol, host, port: number }]
  })
  return addresses.length === publicPorts(run.ports).length ? { addresses } : undefined
}

/**
 * Returns the last addresses of a running server, which its players still reach while an address is missing, or why there are none.
 * `numberOf` has the present numbers, if they can change.
 */
export const lastAddressesOr = (
  { world: { status }, pod }: PlanInput,
  run: WorldRun,
  missing: Diagnosis,
  numberOf?: NumberOf,
): Found => {
  const isSameServer = status?.run?.id === run.id && status.deployment?.externalId === pod?.metadata.uid
  const last = isSameServer ? status.addresses : undefined
  if (last?.[0] === undefined) return { missing }
  const addresses = (numberOf && addressesAt(last[0].host, run, numberOf)?.addresses) ?? last
  const message = `${missing.message} Its last address is shown.`
  return { addresses, missing: seriousDiagnosis('AddressMissing', message, missing.detail) }
}
