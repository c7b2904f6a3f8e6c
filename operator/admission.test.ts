import { expect, test } from 'vitest'
import { KubeError } from '#shared/kube/errors.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { watchAdmission } from './admission.ts'

const hourMs = 3_600_000
const name = 'orrery-run-fields'
const aBinding = (validationActions: string[], policyName = name) => ({
  apiVersion: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName, validationActions },
})
const denies = aBinding(['Audit', 'Deny'])
const failure = (status: number) => new KubeError({ status, reason: 'Failure', message: 'no' })

/** Watches for an hour for each of these bindings; returns what is logged in each of them. */
const watch = async (hours: readonly (ReturnType<typeof aBinding> | KubeError)[]): Promise<string[][]> => {
  const clock = createFakeClock()
  const stop = new AbortController()
  let lines: string[] = []
  let [current] = hours
  const write = (_: object, message = '') => void lines.push(message)
  const get = async () => (current instanceof KubeError || current === undefined ? Promise.reject(current) : current)
  const parts = { policies: { get }, bindings: { get }, clock, signal: stop.signal }
  const done = watchAdmission({ ...parts, log: { info: write, warn: write } })
  const seen: string[][] = []
  for (const [at] of hours.entries()) {
    await new Promise((resolve) => setImmediate(resolve))
    seen.push(lines)
    lines = []
    current = hours[at + 1]
    clock.advance(hourMs)
  }
  stop.abort()
  await done
  return seen
}

const warning = 'spec.granted is not protected: install the admission policies'

test('says once that spec.granted is not protected, and again only after a change', async () => {
  expect(await watch([failure(404), failure(404), denies, denies, failure(404)])).toEqual([
    [warning],
    [],
    ['spec.granted is protected'],
    [],
    [warning],
  ])
})

test.each([
  ['without Deny', aBinding(['Warn'])],
  ['of another policy', aBinding(['Deny'], 'another')],
])('a binding %s protects nothing', async (_, binding) => {
  expect(await watch([binding])).toEqual([[warning]])
})

test('says nothing where it is protected, and that it cannot check without the right to', async () => {
  expect(await watch([denies])).toEqual([[]])
  expect(await watch([failure(403), failure(403)])).toEqual([['cannot check whether spec.granted is protected'], []])
})
