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
])('allows the API at %s', (_, more, block) => {
  expect(egressOf(more)).toContainEqual(expect.objectContaining({ to: [{ ipBlock: block }] }))
})

test('excludes link-local addresses from a configured network', () => {
  const rules = JSON.stringify(egressOf({ apiNetworks: ['0.0.0.0/0', '::/0'], dnsNetworks: ['10.0.0.0/8'] }))
  expect(rules).toContain('{"cidr":"0.0.0.0/0","except":["169.254.0.0/16","100.100.100.200/32"]}')
  expect(rules).toContain('{"cidr":"::/0","except":["fe80::/10","fd00:ec2::254/128"]}')
  expect(rules).toContain('{"cidr":"10.0.0.0/8"}')
})

test('allows only the pods of the API and of DNS for a host name without a configured network', () => {
  const rules = egressOf({ publicUrl: 'https://api.example.com' })
  expect(JSON.stringify(rules)).not.toContain('ipBlock')
  for (const rule of rules) expect((rule as { to?: object[] }).to?.length ?? 0).toBeGreaterThan(0)
})
