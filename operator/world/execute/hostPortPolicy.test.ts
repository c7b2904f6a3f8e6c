import { expect, test } from 'vitest'
import { aWorld, planFor, running, settings } from '#operator/testing/world.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { buildPod } from '../pod.ts'
import { createHostPortPolicy } from './hostPortPolicy.ts'

const denied = (what: string) =>
  new KubeError({ status: 422, reason: 'Invalid', message: `${what} denied request: no` })
const byPolicy = denied("ValidatingAdmissionPolicy 'orrery-host-ports' with binding 'orrery-host-ports'")
const world = aWorld(running)
const { run } = planFor(world).status
if (run === undefined) throw new Error('no run')
const pod = buildPod(world, run, settings, {}, [7000])
const { signal } = new AbortController()

/** Returns a policy of a cluster that answers dry runs with these errors in turn, and whether each question was a dry run. */
const policyWith = (...answers: (Error | undefined)[]) => {
  const clock = createFakeClock(0)
  const asked: unknown[] = []
  const create = async (object: object, options?: { dryRun?: true }) => {
    asked.push({ dryRun: options?.dryRun, object })
    const answer = answers[asked.length - 1]
    if (answer !== undefined) throw answer
    return pod
  }
  return { policy: createHostPortPolicy({ create } as never, clock), clock, asked }
}

test('is enforced if the policy refuses a bad pod, of which a dry run tells', async () => {
  const { policy, asked } = policyWith(byPolicy)
  expect(await policy.isEnforced(pod, signal)).toBe(true)
  const httpGet = { host: '127.0.0.1', path: '/', port: 8080 }
  expect(asked).toMatchObject([{ dryRun: true, object: { spec: { containers: [{ readinessProbe: { httpGet } }] } } }])
})

test('is not enforced if the pod is accepted, and the next pod asks again', async () => {
  const { policy, asked } = policyWith(undefined, byPolicy)
  expect(await policy.isEnforced(pod, signal)).toBe(false)
  expect(await policy.isEnforced(pod, signal)).toBe(true)
  expect(asked).toHaveLength(2)
})

test('is asked again for a pod that waited for the failure of another one', async () => {
  const { policy, asked } = policyWith(denied('a quota of another tenant'), byPolicy)
  const [one, other] = await Promise.allSettled([policy.isEnforced(pod, signal), policy.isEnforced(pod, signal)])
  expect([one.status, other]).toEqual(['rejected', { status: 'fulfilled', value: true }])
  expect(asked).toHaveLength(2)
})

test('is asked once a minute, and once for pods at the same time', async () => {
  const { policy, clock, asked } = policyWith(byPolicy, byPolicy)
  const both = [policy.isEnforced(pod, signal), policy.isEnforced(pod, signal)]
  expect(await Promise.all(both)).toEqual([true, true])
  clock.advance(59_000)
  await policy.isEnforced(pod, signal)
  expect(asked).toHaveLength(1)
  clock.advance(1_000)
  await policy.isEnforced(pod, signal)
  expect(asked).toHaveLength(2)
})

test.each([
  ['another policy', denied("ValidatingAdmissionPolicy 'images'")],
  ['the API server, which does not answer', new KubeError({ status: 503, message: 'unavailable' })],
])('is unknown if %s refuses the pod', async (_, error) => {
  await expect(policyWith(error).policy.isEnforced(pod, signal)).rejects.toBe(error)
})
