import { expect, test } from 'vitest'
import { isAcknowledgement } from './acknowledgement.ts'

const at = '2026-01-01T00:00:00Z'
const status = (generation: number, more: { phase?: string; message?: string; reason?: string } = {}) => {
  const { phase = 'Active', message = '', reason = 'ServerReady' } = more
  const ready = { type: 'Ready', status: 'True' as const, reason, message, lastTransitionTime: at }
  return {
    phase,
    message,
    observedGeneration: generation,
    conditions: [{ ...ready, observedGeneration: generation }],
  }
}

test('a later generation alone is an acknowledgement, and the first or the same status is none', () => {
  expect(isAcknowledgement(status(1), status(2), { isIdle: false })).toBe(true)
  expect(isAcknowledgement(status(1), status(1), { isIdle: false })).toBe(false)
  expect(isAcknowledgement(undefined, status(1), { isIdle: true })).toBe(false)
})

test('a change of a condition or the message is one only while nothing runs, and a change of the phase never', () => {
  for (const changed of [{ reason: 'WaitingForApi' }, { message: 'Waiting for the API to confirm the start.' }]) {
    expect(isAcknowledgement(status(1), status(2, changed), { isIdle: false })).toBe(false)
    expect(isAcknowledgement(status(1), status(2, changed), { isIdle: true })).toBe(true)
  }
  expect(isAcknowledgement(status(1), status(2, { phase: 'Starting' }), { isIdle: true })).toBe(false)
})
