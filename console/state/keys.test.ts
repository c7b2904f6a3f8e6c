import { expect, test } from 'vitest'
import type { ApiKey } from '#client/operations.ts'
import { isRotating, matchKeys, stateOf } from './keys.ts'

const nowMs = Date.parse('2026-11-28T12:00:00Z')
const dayMs = 24 * 3_600_000
const after = (ms: number): string => new Date(nowMs + ms).toISOString()

test.each([
  [{ isActive: true }, 'Active', 'good'],
  [{ isActive: false }, 'Switched off', 'muted'],
  [{ isActive: true, expiresAt: after(15 * dayMs) }, 'Active, expires in 15 d', 'good'],
  [{ isActive: true, expiresAt: after(14 * dayMs) }, 'Active, expires in 14 d', 'near'],
  [{ isActive: true, expiresAt: after(90_000) }, 'Active, expires in 1 min 30 s', 'near'],
  [{ isActive: false, expiresAt: after(dayMs) }, 'Switched off, expires in 1 d', 'muted'],
  [{ isActive: true, expiresAt: after(0) }, 'Expired 0 ms ago', 'warning'],
  [{ isActive: false, expiresAt: after(-2 * dayMs) }, 'Expired 2 d ago', 'warning'],
])('the key %o is: %s', (key, text, kind) => {
  expect(stateOf(key, nowMs)).toEqual({ text, kind })
})

test.each([
  [{}, false],
  [{ previousValidUntil: after(1) }, true],
  [{ previousValidUntil: after(0) }, false],
  [{ previousValidUntil: after(1), isActive: false }, false],
  [{ previousValidUntil: after(1), expiresAt: after(0) }, false],
  [{ previousValidUntil: after(1), expiresAt: after(1) }, true],
])('the key %o is rotating: %s', (key, expected) => {
  expect(isRotating({ isActive: true, ...key }, nowMs)).toBe(expected)
})

const aKey = (displayName: string, permission: string): ApiKey => ({
  documentId: `key-${displayName.length}`,
  displayName,
  isActive: true,
  isManagedByProvisioner: false,
  organizationId: 'org-1',
  claims: { bot: true },
  permissions: [permission],
  keyString: '',
})

test.each([
  ['', ['Matchmaker', 'Backup']],
  [' MATCH ', ['Matchmaker']],
  ['prj-2', ['Backup']],
  ['key-6', ['Backup']],
  ['bot', ['Matchmaker', 'Backup']],
  ['none', []],
])('the text %o finds the keys %o', (text, expected) => {
  const keys = [
    aKey('Matchmaker', 'organizations/org-1/projects/prj-1:r'),
    aKey('Backup', 'organizations/org-1/projects/prj-2:r'),
  ]
  expect(matchKeys(keys, text).map(({ displayName }) => displayName)).toEqual(expected)
})
