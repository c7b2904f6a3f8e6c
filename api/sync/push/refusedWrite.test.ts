import { expect, test } from 'vitest'
import { errorFromStatus, KubeError } from '#shared/kube/errors.ts'
import { explainRefusedWrite, isRefusedWrite } from './refusedWrite.ts'

const secret = 'admission webhook "internal.example" denied the request of user orrery-api'
const refusal = (status: number, message = secret) => new KubeError({ message, status, reason: '' })

test.each([0, 400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 500, 503, 504])(
  'a refusal with status %i is explained without the words of the API server',
  (status) => {
    const explained = explainRefusedWrite(refusal(status))
    expect(explained).toMatch(/\.$/)
    expect(explained).not.toMatch(/webhook|internal|orrery-api/)
  },
)

test.each([
  [
    refusal(403, 'worlds.orrery.dev "a" is forbidden: exceeded quota: orrery'),
    'the quota of the namespace has no room.',
  ],
  [refusal(403, 'status unknown for quota: orrery'), 'the cluster has not counted the use of the namespace yet.'],
  [refusal(422, "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: c"), 'a policy of the cluster refuses'],
  [refusal(400), 'a policy of the cluster refuses'],
  [refusal(500, '.spec.networking.ports: field not declared in schema'), 'is older than the API'],
  [refusal(400, 'strict decoding error: unknown field "spec.networking.ports"'), 'is older than the API'],
  [refusal(422, 'spec.map: Invalid value'), 'the cluster does not accept the resource'],
  [new KubeError({ message: secret, status: 403, reason: 'NamespaceTerminating' }), 'the namespace is being deleted.'],
])('%s is explained by its cause', (error, cause) => {
  expect(explainRefusedWrite(error)).toContain(cause)
})

test.each([
  [refusal(422, 'spec.map: Invalid value'), true],
  [refusal(403), true],
  [refusal(400), true],
  [refusal(403, 'status unknown for quota: orrery'), false],
  [new KubeError({ message: secret, status: 403, reason: 'NamespaceTerminating' }), false],
  [refusal(500, '.spec.networking.ports: field not declared in schema'), true],
  [refusal(409), false],
  [refusal(503), false],
  [refusal(0), false],
  [new Error('lost'), false],
])('isRefusedWrite(%s) is %s', (error, isRefused) => {
  expect(isRefusedWrite(error)).toBe(isRefused)
})

test('a cause after a long value that the message quotes is explained', () => {
  const message = `"" is invalid: patch: Invalid value: "${'x'.repeat(9_000)}": strict decoding error: unknown field "spec.networking.ports"`
  const error = errorFromStatus(422, { message, reason: 'Invalid' }, 'PATCH /worlds/w')
  expect(explainRefusedWrite(error)).toContain('is older than the API')
  expect(error.message.length).toBeLessThan(2_200)
})
