import { expect, test } from 'vitest'
import { toContextDetails } from './launchContext.ts'

const world = { runtime: {}, admission: { policy: 'Open', capacity: 30 } } as const
const streaming = {
  providerA: { cmsId: 'c', authorizationId: 'a', launchMode: 'embedded' },
  bypassBrowserRestrictions: true,
  okPageUrl: 'https://ok',
  errorPageUrl: '',
} as const

test('renames streaming fields for the launch context and keeps them until streaming is set again', () => {
  const first = toContextDetails(world, { streaming })
  expect(first).toMatchObject({
    providerAStreaming: streaming.providerA,
    bypassBrowserRestrictions: true,
    okPageUrl: 'https://ok',
    publicDownload: { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false },
  })
  expect(toContextDetails(world, {}, first)).toEqual(first)
  const { providerA: _, ...without } = streaming
  expect(toContextDetails(world, { streaming: without }, first)).not.toHaveProperty('providerAStreaming')
})

test('copies queue, capacity and build from the world and drops the previous build', () => {
  const before = toContextDetails({ ...world, runtime: { build: { channelId: 'c', tag: 't' } } }, {})
  expect(before.buildInfo).toEqual({ buildChannelId: 'c', buildTag: 't', buildType: 'client' })
  const queued = {
    runtime: { build: { content: { id: 'x' } } },
    admission: { policy: 'Queued', capacity: 5 },
  } as const
  const after = toContextDetails(queued, {}, before)
  expect(after).toMatchObject({ enableQueue: true, capacity: 5 })
  expect(after).not.toHaveProperty('buildInfo')
})
