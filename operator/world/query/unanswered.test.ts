import { expect, test } from 'vitest'
import { toUnanswered } from './unanswered.ts'

test('says of a silent server what it was asked, and where', () => {
  expect(toUnanswered({ protocol: 'Http', port: 8_080 }, undefined)).toEqual({
    kind: 'unanswered',
    reason: 'NoAnswer',
    why: 'The server has not answered the query Http at TCP port 8080 for 3 polls. Check runtime.query and that the server listens on that port.',
  })
})

test('says of an answer of another protocol how it differs', () => {
  expect(toUnanswered({ protocol: 'SQP', port: 9_000 }, 'has 3 bytes')).toEqual({
    kind: 'unanswered',
    reason: 'UnknownAnswer',
    why: 'The answer at UDP port 9000 is not one of SQP: it has 3 bytes. Check that runtime.query names the protocol that the server speaks at that port.',
  })
})
