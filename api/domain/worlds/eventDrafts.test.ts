import { expect, test } from 'vitest'
import type { StoredCondition } from '#api/domain/events/conditions.ts'
import { observedEvents, startEvent } from './eventDrafts.ts'

const at = '2026-01-01T00:00:00.000Z'
const condition = (
  type: StoredCondition['type'],
  status: StoredCondition['status'],
  [reason, message]: readonly [string, string],
): StoredCondition => ({ type, status, reason, message, lastTransitionAt: at })

const waiting = condition('Ready', 'False', ['Starting', 'Waiting for the server to start.'])
const ready = condition('Ready', 'True', ['ServerReady', ''])
const failed = (restart: number) =>
  condition('Degraded', 'True', ['ServerFailed', `Restart ${restart} of 3: the server failed with exit code 1.`])
const starting = { phase: 'Starting', address: null, conditions: [waiting] } as const
const active = {
  phase: 'Active',
  address: {
    addresses: [{ name: 'game', protocol: 'TCPUDP', host: '10.0.0.7', port: 7777 }],
    strategy: 'Default',
  },
  conditions: [ready],
} satisfies Parameters<typeof observedEvents>[0]
const restarting = (restart: number) => ({ ...active, address: null, conditions: [failed(restart), waiting] })

const summarize = (...args: Parameters<typeof observedEvents>) =>
  observedEvents(...args).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)

test('names the address of a server that becomes ready, or its URL', () => {
  expect(summarize(starting, active, {})).toEqual(['Normal Ready: The server is ready at 10.0.0.7:7777.'])
  const url = 'wss://wld-1.worlds.example'
  const addresses = active.address.addresses.map((each) => ({ ...each, url }))
  expect(summarize(starting, { ...active, address: { addresses, strategy: 'Route' } }, {})).toEqual([
    `Normal Ready: The server is ready at ${url}.`,
  ])
  expect(summarize(active, { ...active, address: null }, {})).toEqual([])
})

test('reports each restart once, and the recovery', () => {
  expect(summarize(active, restarting(1), {})).toEqual([
    'Warning ServerFailed: Restart 1 of 3: the server failed with exit code 1.',
  ])
  expect(summarize(restarting(1), restarting(1), {})).toEqual([])
  expect(summarize(restarting(1), restarting(2), {})).toEqual([
    'Warning ServerFailed: Restart 2 of 3: the server failed with exit code 1.',
  ])
  expect(summarize(restarting(2), active, {})).toEqual(['Normal Ready: The server is ready at 10.0.0.7:7777.'])
})

test('reports an end once, with its reason', () => {
  const stopped = { phase: 'Stopped', address: null, conditions: [waiting] } as const
  expect(summarize(active, stopped, { endReason: 'Expired', endMessage: '' })).toEqual([
    'Normal Expired: The duration of the run is over.',
  ])
  expect(summarize(stopped, stopped, { endReason: 'Stopped' })).toEqual([])
  const endMessage = 'Failed 4 times; last error: the server failed with exit code 1.'
  const error = {
    phase: 'Error',
    address: null,
    conditions: [condition('Degraded', 'True', ['ServerFailed', endMessage])],
  } as const
  expect(summarize(active, error, { endReason: 'RestartBudget', endMessage })).toEqual([
    `Warning RestartBudget: ${endMessage}`,
  ])
  expect(summarize(error, stopped, { endReason: 'RestartBudget', endMessage, dismissed: true })).toEqual([])
})

test('reports a refused edit once', () => {
  const refused = { ...active, conditions: [ready, condition('Synced', 'False', ['EditRefused', 'No.'])] }
  expect(summarize(active, refused, {})).toEqual(['Warning EditRefused: No.'])
  expect(summarize(refused, refused, {})).toEqual([])
})

test('names the run that a start replaces', () => {
  expect(startEvent('run-2', { replaced: 'run-1' }).message).toBe('Run run-2 was requested. It replaces run run-1.')
  expect(startEvent('run-1', { replaced: null }).reason).toBe('Started')
})

test('names the user who woke the world', () => {
  expect(startEvent('run-2', { replaced: null, wokenBy: 'ann' })).toEqual({
    type: 'Normal',
    reason: 'Started',
    message: 'Run run-2 was requested. ann woke the world.',
  })
})
