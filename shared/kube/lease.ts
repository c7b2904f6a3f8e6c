import type { V1Lease } from '@kubernetes/client-node'
import type { Resource, Sent } from './client.ts'
import type { ObjectRef, Typed } from './objects.ts'

/** A Lease of coordination.k8s.io/v1. An empty or absent `holderIdentity` means that nobody leads. */
export type Lease = Typed<V1Lease>

/** How leases are reached. */
export const leaseResource: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' }

/** A record as it was seen, and since when by this machine's monotonic time: other machines' clocks are not believed. */
export type ObservedLease = { readonly lease: Lease; readonly sinceMs: number }

/** What was observed before, unless the record says something new. What only touches its metadata is nothing new. */
export const observeLease = (before: ObservedLease | undefined, lease: Lease, nowMs: number): ObservedLease =>
  before !== undefined && JSON.stringify(before.lease.spec) === JSON.stringify(lease.spec)
    ? { lease, sinceMs: before.sinceMs }
    : { lease, sinceMs: nowMs }

/** How long, in milliseconds, the lease is another's; 0 where this identity may take it. */
export const heldByOthersMs = (observed: ObservedLease | undefined, identity: string, nowMs: number): number => {
  const holder = observed?.lease.spec?.holderIdentity ?? ''
  if (observed === undefined || holder === '' || holder === identity) return 0
  const durationMs = (observed.lease.spec?.leaseDurationSeconds ?? 0) * 1000
  return Math.max(0, observed.sinceMs + durationMs - nowMs)
}

/** The record by which `identity` takes or renews the lease; `nowMs` since the epoch. `before` is what it replaces. */
export const takenLease = (options: {
  ref: ObjectRef
  before: Lease | undefined
  identity: string
  durationMs: number
  nowMs: number
}): Sent => {
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

/** The record by which a leader gives the lease up, so that nobody waits for it to run out. */
export const releasedLease = (ref: ObjectRef, before: Lease, nowMs: number): Sent =>
  record(ref, before, {
    ...before.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: microTime(nowMs),
    renewTime: microTime(nowMs),
  })

/** An instant as meta/v1 MicroTime wants it, with exactly six digits after the point; `ms` since the epoch. */
export const microTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000Z`

const record = ({ namespace, name }: ObjectRef, before: Lease | undefined, spec: Lease['spec']): Sent => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...before?.metadata, name, ...(namespace === undefined ? {} : { namespace }) },
  spec,
})
