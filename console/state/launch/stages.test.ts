import { expect, test } from 'vitest'
import { remedies } from '#shared/why/remedies.ts'
import { stageOf } from './stages.ts'

const isStarting = { phase: 'Starting', reason: 'Starting', message: '' } as const

test.each(['Active', 'Error', 'Stopped', 'Inactive'] as const)('the phase %s decides alone', (phase) => {
  const stage = { Active: 'active', Error: 'error', Stopped: 'ended', Inactive: 'ended' }[phase]
  expect(stageOf({ phase, reason: 'Unschedulable', message: 'Waiting for a node.' })).toBe(stage)
})

test.each([
  ['Starting', ''],
  ['Starting', 'The run was requested.'],
  ['Starting', 'Waiting for a node.'],
  ['Starting', 'Waiting for a node. Changes of mapName take effect at the next start.'],
  ['Starting', 'Changes of mapName take effect at the next start.'],
  ['Starting', 'Waiting for an older server to stop.'],
  ['PreviousRun', 'Waiting for the server of the previous run to stop.'],
  ['Unschedulable', 'No node has room for the server. Choose a smaller scaling profile, or ask the platform operator.'],
  ['PortsExhausted', 'No node with free host ports was found for the server. Stop another world.'],
  ['QuotaExceeded', 'The quota of the namespace has no room for the server. Stop other worlds or bots.'],
  ['AdmissionRefused', `A policy of the cluster refused the server. ${remedies.AdmissionRefused}`],
  ['NotPermitted', 'The operator lacks a permission for the server. Ask the platform operator.'],
])('a start with the reason %s and the message %j is pending', (reason, message) => {
  expect(stageOf({ ...isStarting, reason, message })).toBe('pending')
})

test.each([
  ['Starting', 'Waiting for the server to start.'],
  ['Starting', 'Waiting for the server to become ready.'],
  ['ImagePullFailed', 'The server image cannot be pulled. Check the image of the build, or ask the platform operator.'],
  ['OutOfMemory', 'Restart 1 of 3: The server exceeded its memory limit of 2Gi. Choose a larger scaling profile.'],
  ['RoutePending', 'Waiting for the Gateway to accept the route of the world.'],
  ['AReasonOfALaterVersion', 'Something new.'],
])('a start with the reason %s and the message %j is starting', (reason, message) => {
  expect(stageOf({ ...isStarting, reason, message })).toBe('starting')
})
