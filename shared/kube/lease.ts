import type { V1Lease } from '@kubernetes/client-node'
import { withDefined } from '#shared/optional.ts'
import type { ObjectInput, Resource } from './client.ts'
import type { KubeObjectOf, ObjectRef } from './objects.ts'

/** A Lease of coordination.k8s.io/v1. An empty or absent `holderIdentity` means that there is no leader. */
export type Lease = KubeObjectOf<V1Lease>

/** The Lease resource. */
export const leaseResource: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' }

/** A lease, and the monotonic time of this machine when it was first seen. Clocks of other machines are not trusted. */
export type ObservedLease = { readonly lease: Lease; readonly sinceMs: number }

/** Returns the observation of a lease. The time of the previous one is kept unless the spec changed. */
export const observeLease = (before: ObservedLease | undefined, lease: Lease, nowMs: number): ObservedLease =>
  before !== undefined && JSON.stringify(before.lease.spec) === JSON.stringify(lease.spec)
    ? { lease, sinceMs: before.sinceMs }
    : { lease, sinceMs: nowMs }

/** Returns the time in milliseconds for which another process holds the lease, or 0 if this identity can take it. */
export const leaseWaitMs = (observed: ObservedLease | undefined, identity: string, nowMs: number): number => {
  const holder = observed?.lease.spec?.holderIdentity ?? ''
  if (observed === undefined || holder === '' || holder === identity) return 0
  const durationMs = (observed.lease.spec?.leaseDurationSeconds ?? 0) * 1000
  return Math.max(0, observed.sinceMs + durationMs - nowMs)
}

/** Returns the Lease with which `identity` takes or renews `before`. `nowMs` is epoch milliseconds. */
export const buildLeaseClaim = (options: {
  ref: ObjectRef
  before: Lease | undefined
  identity: string
  durationMs: number
  nowMs: number
}): ObjectInput => {
  const { ref, before, identity, durationMs, nowMs } = options
  const spec = before?.spec ?? {}
  const renewed = spec.holderIdentity === identity
  const transitions = spec.leaseTransitions ?? 0
  return record(ref, before, {
    ...spec,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: renewed ? (spec.acquireTime ?? microTime(nowMs)) : microTime(nowMs),
    renewTime: microTime(nowMs),
    leaseTransitions: renewed || before === undefined ? transitions : transitions + 1,
  })
}

/** Returns the Lease with which a leader releases it, so that a standby does not wait for its expiry. */
export const buildLeaseRelease = (ref: ObjectRef, before: Lease, nowMs: number): ObjectInput =>
  record(ref, before, {
    ...before.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: microTime(nowMs),
    renewTime: microTime(nowMs),
  })

/** Formats epoch milliseconds as a meta/v1 MicroTime, which has exactly six fractional digits. */
export const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`

const record = ({ namespace, name }: ObjectRef, before: Lease | undefined, spec: Lease['spec']): ObjectInput => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...before?.metadata, name, ...withDefined({ namespace }) },
  spec,
})
