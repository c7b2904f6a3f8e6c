import { expect, test } from 'vitest'
import { explainHostPorts, type HostPorts, parseHostPorts } from './hostPorts.ts'
import type { WorldPort } from './ports.ts'

const parsed = (text: string): HostPorts => parseHostPorts(text).value ?? new Map()

test('host ports are intervals under names', () => {
  expect(parsed('default=7000-8000, voice=9000-9007,static=27015,static=27020-27030')).toEqual(
    new Map([
      ['default', [{ first: 7000, last: 8000 }]],
      ['voice', [{ first: 9000, last: 9007 }]],
      [
        'static',
        [
          { first: 27_015, last: 27_015 },
          { first: 27_020, last: 27_030 },
        ],
      ],
    ]),
  )
})

test.each([
  ['7000-8000', '7000-8000 must be a named range such as default=7000-8000'],
  ['', 'an empty entry must be a named range such as default=7000-8000'],
  ['Default=7000-8000', 'Default=7000-8000 must be a named range such as default=7000-8000'],
  ['a=80-100', 'a=80-100 must be within 1024 and 65535, the smaller port first'],
  ['a=8000-7000', 'a=8000-7000 must be within 1024 and 65535, the smaller port first'],
  ['a=65000-65600', 'a=65000-65600 must be within 1024 and 65535, the smaller port first'],
  ['a=29000-30000', 'a=29000-30000 overlaps the node ports 30000-32767'],
  ['static=32767', 'static=32767 overlaps the node ports 30000-32767'],
  ['a=7000-8000,static=8000', 'static=8000 overlaps a=7000-8000'],
  ['a=7000-7006', 'a must have at least 8 ports'],
  [Array.from({ length: 65 }, (_, at) => `static=${2_000 + at}`).join(), 'must have at most 64 entries'],
])('%s are no host ports', (text, error) => {
  expect(parseHostPorts(text).errors).toEqual([error])
})

test('all faults are named', () => {
  expect(parseHostPorts('a=1-2,b,c=31000').errors).toHaveLength(3)
})

const port = (changes: Partial<WorldPort>): WorldPort => ({
  name: 'game',
  containerPort: 7777,
  protocol: 'UDP',
  expose: 'Public',
  ...changes,
})

test.each([
  [{}, undefined],
  [{ policy: 'Passthrough', range: 'voice' }, undefined],
  [{ policy: 'Static', hostPort: 27_015 }, undefined],
  [{ range: 'other' }, 'Range other of port game is no range of host ports of the platform. Ranges: default, voice.'],
  [{ range: 'static' }, 'Range static of port game is no range of host ports of the platform. Ranges: default, voice.'],
  [
    { policy: 'Static', hostPort: 7000 },
    'Host port 7000 of port game is no static port of the platform. Static ports: 27015, 27020-27030.',
  ],
] as const)('the port %j has the fault %j', (changes, fault) => {
  const platform = parsed('default=7000-8000,voice=9000-9007,static=27015,static=27020-27030')
  expect(explainHostPorts([port(changes)], platform)).toBe(fault)
})

test('without static ports, none is allowed', () => {
  const message = explainHostPorts([port({ policy: 'Static', hostPort: 27_015 })], parsed('default=7000-8000'))
  expect(message).toContain('Static ports: none.')
})
