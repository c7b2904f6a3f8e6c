import { expect, test } from 'vitest'
import { newSigningSecret, signatureHeaders } from './signature.ts'

/** The example of the Standard Webhooks reference libraries. */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const message = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestampSeconds: 1_614_265_330,
  body: '{"test": 2432232314}',
}

test('signs as the reference libraries of Standard Webhooks do', () => {
  expect(signatureHeaders(message, [secret])).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('signs with every secret during a rotation', () => {
  const [next, both] = [newSigningSecret(() => Buffer.alloc(32, 7)), signatureHeaders(message, [secret])]
  const headers = signatureHeaders(message, [next, secret])
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2)
  expect(headers['webhook-signature']?.split(' ')[1]).toBe(both['webhook-signature'])
})

test('depends on the id, the time and the body', () => {
  const signatures = [
    message,
    { ...message, id: 'other' },
    { ...message, timestampSeconds: 1 },
    { ...message, body: '' },
  ].map((each) => signatureHeaders(each, [secret])['webhook-signature'])
  expect(new Set(signatures).size).toBe(4)
})

test('generates secrets of 32 bytes', () => {
  const generated = newSigningSecret()
  expect(generated).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newSigningSecret()).not.toBe(generated)
})
