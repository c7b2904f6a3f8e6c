import { expect, test } from 'vitest'
import { parseGateway, parseRouteUrl } from './gateway.ts'

const isNoGateway = 'must be the namespace, the name and optionally the listener of a Gateway: gateways/players/wss'
const isNoUrl =
  'must be a URL with * for the id of a world, such as wss://*.worlds.example.com; the domain has at most 220 characters'

test.each([
  ['gateways/players', { namespace: 'gateways', name: 'players' }],
  ['gateways/players.eu/wss', { namespace: 'gateways', name: 'players.eu', listener: 'wss' }],
  [`${'n'.repeat(63)}/${'g'.repeat(253)}`, { namespace: 'n'.repeat(63), name: 'g'.repeat(253) }],
])('%s is a Gateway', (text, value) => {
  expect(parseGateway(text)).toEqual({ value })
})

test.each([
  '',
  'players',
  '/players',
  'gateways/',
  'gateways/players/',
  'gateways/players/wss/443',
  'Gateways/players',
  'gate.ways/players',
  'gateways/players_eu',
  ' gateways/players',
  `${'n'.repeat(64)}/players`,
  `gateways/${'g'.repeat(254)}`,
  `gateways/players/${'l'.repeat(254)}`,
])('%j is no Gateway', (text) => {
  expect(parseGateway(text)).toEqual({ errors: [isNoGateway] })
})

const labels = `${'a'.repeat(63)}.`
const longest = `${labels.repeat(3)}${'b'.repeat(28)}`

test.each([
  ['wss://*.worlds.example.com', { scheme: 'wss', domain: 'worlds.example.com', port: 443 }],
  ['wss://*.worlds.example.com:8443', { scheme: 'wss', domain: 'worlds.example.com', port: 8443 }],
  ['ws://*.localhost', { scheme: 'ws', domain: 'localhost', port: 80 }],
  ['ws://*.localhost:65535', { scheme: 'ws', domain: 'localhost', port: 65_535 }],
  [`wss://*.${longest}`, { scheme: 'wss', domain: longest, port: 443 }],
])('%s is the URL of worlds', (text, value) => {
  expect(parseRouteUrl(text)).toEqual({ value })
})

test.each([
  '',
  'worlds.example.com',
  'https://*.worlds.example.com',
  'wss://worlds.example.com',
  'wss://*',
  'wss://*.',
  'wss://*.*.example.com',
  'wss://a.*.example.com',
  'wss://*.Worlds.example.com',
  'wss://*.worlds..example.com',
  'wss://*.-worlds.example.com',
  'wss://*.worlds.example.com.',
  'wss://*.worlds.example.com/',
  'wss://*.worlds.example.com/path',
  'wss://*.worlds.example.com?a=b',
  'wss://*.worlds.example.com:',
  'wss://*.worlds.example.com:0',
  'wss://*.worlds.example.com:65536',
  'wss://*.worlds.example.com:443443',
  'wss://user@*.worlds.example.com',
  `wss://*.${'a'.repeat(64)}.example`,
  `wss://*.${longest}b`,
])('%j is no URL of worlds', (text) => {
  expect(parseRouteUrl(text)).toEqual({ errors: [isNoUrl] })
})

test('the host name of a world below the longest domain is a DNS name', () => {
  expect(longest).toHaveLength(220)
  expect(`wld-${'0'.repeat(26)}.${longest}`.length).toBeLessThanOrEqual(253)
})
