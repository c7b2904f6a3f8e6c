import { expect, test } from 'vitest'
import { contextDetails } from './launchContext.ts'

const world = { runtime: { mapName: '' }, admission: { policy: 'Open', capacity: 30 } } as const
const streaming = {
  providerA: { cmsId: 'c', authorizationId: 'a', launchMode: 'embedded' },
  bypassBrowserRestrictions: true,
  okPageUrl: 'https://ok',
  errorPageUrl: '',
} as const

test('what is streamed lands under the names of the launch context, and stays until it is given again', () => {
  const first = contextDetails(world, { streaming })
  expect(first).toMatchObject({
    providerAStreaming: streaming.providerA,
    bypassBrowserRestrictions: true,
    okPageUrl: 'https://ok',
    publicDownload: { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false },
  })
  expect(contextDetails(world, {}, first)).toEqual(first)
  const { providerA: _, ...without } = streaming
  expect(contextDetails(world, { streaming: without }, first)).not.toHaveProperty('providerAStreaming')
})

test('queue, capacity and build mirror the world, whatever was there before', () => {
  const before = contextDetails({ ...world, runtime: { mapName: '', build: { channelId: 'c', tag: 't' } } }, {})
  expect(before.buildInfo).toEqual({ buildChannelId: 'c', buildTag: 't', buildType: 'client' })
  const queued = {
    runtime: { mapName: '', build: { content: { id: 'x' } } },
    admission: { policy: 'Queued', capacity: 5 },
  } as const
  const after = contextDetails(queued, {}, before)
  expect(after).toMatchObject({ enableQueue: true, capacity: 5 })
  expect(after).not.toHaveProperty('buildInfo')
})
