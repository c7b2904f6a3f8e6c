import { expect, test } from 'vitest'
import { type NetworkOptions, networkPolicies } from './networkPolicies.ts'

const options: NetworkOptions = { publicUrl: 'https://203.0.113.7', apiPort: 8080, apiNetworks: [], dnsNetworks: [] }
const egressOf = (more: Partial<NetworkOptions> = {}) => {
  const policies = networkPolicies('n', { ...options, ...more }) as { spec: { egress?: object[] } }[]
  return policies.flatMap(({ spec }) => spec.egress ?? [])
}

test.each([
  ['an address', {}, { cidr: '203.0.113.7/32' }],
  ['an IPv6 address', { publicUrl: 'http://[2001:db8::1]:8080' }, { cidr: '2001:db8::1/128' }],
  [
    'a network',
    { publicUrl: 'https://api.example.com', apiNetworks: ['198.51.100.0/24'] },
    { cidr: '198.51.100.0/24' },
  ],
])('the API is reached at %s', (_, more, block) => {
  expect(egressOf(more)).toContainEqual(expect.objectContaining({ to: [{ ipBlock: block }] }))
})

test('a network that holds link-local addresses leaves them out', () => {
  const rules = JSON.stringify(egressOf({ apiNetworks: ['0.0.0.0/0', '::/0'], dnsNetworks: ['10.0.0.0/8'] }))
  expect(rules).toContain('{"cidr":"0.0.0.0/0","except":["169.254.0.0/16","100.100.100.200/32"]}')
  expect(rules).toContain('{"cidr":"::/0","except":["fe80::/10","fd00:ec2::254/128"]}')
  expect(rules).toContain('{"cidr":"10.0.0.0/8"}')
})

test('without a network, a host name opens nothing but the pods of the API and of DNS', () => {
  const rules = egressOf({ publicUrl: 'https://api.example.com' })
  expect(JSON.stringify(rules)).not.toContain('ipBlock')
  for (const rule of rules) expect((rule as { to?: object[] }).to?.length ?? 0).toBeGreaterThan(0)
})
