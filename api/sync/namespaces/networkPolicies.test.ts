import { expect, test } from 'vitest'
import { type NetworkOptions, networkPolicies } from './networkPolicies.ts'

const options: NetworkOptions = { publicUrl: 'https://203.0.113.7', apiPort: 8080, apiNetworks: [], dnsNetworks: [] }
const users = { api: 'system:serviceaccount:front:api', operator: 'system:serviceaccount:ops:operator' }
const inNamespace = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } })
const named = (name: string) => ({ matchLabels: { 'app.kubernetes.io/name': name } })
const egressOf = (more: Partial<NetworkOptions> = {}) => {
  const policies = networkPolicies('n', { ...options, ...more }, users) as { spec: { egress?: object[] } }[]
  return policies.flatMap(({ spec }) => spec.egress ?? [])
}

test('names pods of the platform only in the namespace of their service account', () => {
  const peers = JSON.stringify(networkPolicies('n', options, users)).match(/\{"namespaceSelector".*?\}\}\}/g)
  expect(peers?.map((each) => JSON.parse(each))).toEqual([
    { namespaceSelector: inNamespace('ops'), podSelector: named('orrery-operator') },
    { namespaceSelector: inNamespace('kube-system'), podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } },
    { namespaceSelector: inNamespace('front'), podSelector: named('orrery-api') },
  ])
})

test('opens the public ports of worlds to all, and the internal ones and the probes to the operator alone', () => {
  const policies = networkPolicies('n', options, users) as { metadata: { name: string }; spec: object }[]
  const worlds = policies.find(({ metadata }) => metadata.name === 'worlds')?.spec as {
    ingress: { ports: { port: string | number }[]; from?: object[] }[]
  }
  const opened = worlds.ingress.map(({ from, ports }) => [from?.length ?? 'all', ports.map(({ port }) => port)])
  const names = (expose: string) =>
    Array.from({ length: 8 }, (_, at) => [`${expose}-${at + 1}-tcp`, `${expose}-${at + 1}-udp`]).flat()
  expect(opened).toEqual([
    ['all', names('public')],
    [1, [8080, ...names('internal')]],
  ])
})

test('lets bots reach servers of their namespace alone', () => {
  const policies = networkPolicies('n', options, users) as { metadata: { name: string }; spec: object }[]
  const servers = { matchLabels: { 'app.kubernetes.io/component': 'world' } }
  expect(policies.find(({ metadata }) => metadata.name === 'bots')?.spec).toMatchObject({
    egress: [{ to: [{ podSelector: servers }] }],
  })
})

test('names no pods of a process whose user is not a service account, and leaves no rule without peers', () => {
  const text = JSON.stringify(networkPolicies('n', options, { api: 'orrery-api', operator: 'orrery-operator' }))
  expect(text).not.toMatch(/orrery-api|orrery-operator|"(from|to)":\[\]/)
  expect(text).not.toContain('8080')
})

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
