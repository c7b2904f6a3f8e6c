import { expect, test } from 'vitest'
import type { Usage } from '#client/operations.ts'
import { formatAmount, toBars, toOthers } from './usage.ts'

const free = { limit: 10, used: 0 }
const usage = (members: Partial<Usage> = {}): Usage => ({
  maxWorlds: free,
  maxWorldCapacity: free,
  maxRunningCapacity: free,
  maxNodePorts: free,
  maxLoadBalancers: free,
  hostPorts: { limit: false },
  maxBotDeployments: free,
  maxBotCpu: free,
  maxBotMemory: free,
  imageRegistries: { limit: ['*'] },
  imagePullSecrets: { limit: [] },
  maxApiKeys: free,
  maxWebhooks: free,
  maxDocuments: free,
  maxDocumentBytes: free,
  maxDocumentBytesPerSecond: { limit: 2 * 1024 ** 2 },
  maxConnections: free,
  maxRequestsPerSecond: { limit: 2_000 },
  ...members,
})
const barOf = (name: keyof Usage, value: { limit: number; used: number }) =>
  toBars(usage({ [name]: value })).find((bar) => bar.name === name)

test.each([
  [{ used: 0, limit: 10 }, 'ok', 0, '0 of 10'],
  [{ used: 1_599, limit: 2_000 }, 'ok', 79, '1,599 of 2,000'],
  [{ used: 1_600, limit: 2_000 }, 'near', 80, '1,600 of 2,000'],
  [{ used: 1_999, limit: 2_000 }, 'near', 99, '1,999 of 2,000'],
  [{ used: 2_000, limit: 2_000 }, 'full', 100, '2,000 of 2,000'],
  [{ used: 30, limit: 10 }, 'full', 300, '30 of 10'],
  [{ used: 3, limit: 0 }, 'full', 100, '3 of 0'],
  [{ used: 0, limit: 0 }, 'none', 0, '0 of 0'],
])('the use %o is %s at %i percent', (value, level, percent, text) => {
  expect(barOf('maxRunningCapacity', value)).toMatchObject({ level, percent, text })
})

test('a largest world of the permitted size is no warning', () => {
  expect(barOf('maxWorldCapacity', { used: 10, limit: 10 })).toMatchObject({ level: 'ok', percent: 100 })
})

test('every limit is shown once', () => {
  const all = usage()
  const names = [...toBars(all), ...toOthers(all)].map(({ name }) => name)
  expect(names.toSorted()).toEqual(Object.keys(all).toSorted())
})

test.each([
  [0, '0 B'],
  [1_023, '1,023 B'],
  [1_024, '1 KiB'],
  [1_536 * 1_024, '1.5 MiB'],
  [2_500 * 1024 ** 3, '2.44 TiB'],
  [2 ** 60, '1,024 PiB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatAmount(bytes, 'bytes')).toBe(text)
})

test('limits without a use are in words', () => {
  const texts = (members: Partial<Usage>) => toOthers(usage(members)).map(({ text }) => text)
  expect(texts({})).toEqual([
    '2,000 a second to each replica of the API',
    '2 MiB a second to each replica of the API',
    'Every registry',
    'None',
    'Not allowed',
  ])
  const named = { imageRegistries: { limit: ['a.example', 'b.example/acme'] }, hostPorts: { limit: true } }
  expect(texts(named)).toEqual(expect.arrayContaining(['a.example, b.example/acme', 'Allowed']))
  expect(barOf('maxBotCpu', { used: 0.25, limit: 1 })?.text).toBe('0.25 of 1 core')
})
