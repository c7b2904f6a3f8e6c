import bs58 from 'bs58'
import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { readHandshake } from './handshake.ts'

const encode = (text: string): string => bs58.encode(Buffer.from(text))

test('merges the encoded headers and selects the list or orrery.v1', () => {
  const list = encode('x-api-key:secret\nx-svc-organization-id:org-1')
  const headers = { 'x-api-key': 'secret', 'x-svc-organization-id': 'org-1' }
  expect(readHandshake(list, {})).toEqual({ headers, answer: list })
  expect(readHandshake(`orrery.v1, ${list}`, {})).toEqual({ headers, answer: 'orrery.v1' })
  expect(readHandshake(undefined, headers)).toEqual({ headers, answer: undefined })
})

test('refuses a list that contradicts a header and quotes neither value', () => {
  const answer = readHandshake(encode('x-api-key:secret'), { 'x-api-key': 'hidden' })
  expect(answer).toEqual({ fault: expect.stringContaining('x-api-key') })
  expect(JSON.stringify(answer)).not.toMatch(/secret|hidden/)
})

test('never throws and selects only an offered subprotocol', () => {
  const anyHeader = fc.oneof(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.string().map(encode))
  fc.assert(
    fc.property(anyHeader, (header) => {
      const read = readHandshake(header, {})
      if ('fault' in read) expect(read.fault).not.toBe('')
      else if (read.answer !== undefined) expect(header).toContain(read.answer)
    }),
  )
})
