import { expect, test } from 'vitest'
import { isApiKey } from './apiKey.ts'
import { hashOfTicket, isTicket, newTicket } from './ticket.ts'

test('has the form of a ticket, and not that of a key', () => {
  const ticket = newTicket()
  expect(isTicket(ticket)).toBe(true)
  expect(isApiKey(ticket)).toBe(false)
  for (const text of ['', 'ort_', ticket.slice(1), `${ticket}A`, `${ticket}\n`]) expect(isTicket(text)).toBe(false)
  expect(newTicket()).not.toBe(ticket)
  expect(isTicket(hashOfTicket(ticket))).toBe(false)
})
