import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { decimal, EnvironmentError, flag, parseEnvironment, port, readSettings, url } from './environment.ts'

const shape = {
  ORRERY_PORT: port().optional(),
  ORRERY_DATABASE_URL: url('postgres', 'postgresql').describe('postgres://user:password@host/database'),
  ORRERY_RATIO: decimal(0, 1).default(1),
  ORRERY_ROOT_API_KEY: z.string().min(16, 'must have at least 16 characters'),
}

test('parses the environment into typed values and treats an empty variable as absent', () => {
  const env = { ORRERY_PORT: '', ORRERY_DATABASE_URL: 'postgres://h/d', ORRERY_ROOT_API_KEY: 'x'.repeat(16) }
  expect(parseEnvironment(shape, env)).toEqual({
    ORRERY_DATABASE_URL: 'postgres://h/d',
    ORRERY_RATIO: 1,
    ORRERY_ROOT_API_KEY: 'x'.repeat(16),
  })
})

test('lists all errors together with the valid form, and shows no value', () => {
  const env = { ORRERY_PORT: '70000', ORRERY_RATIO: '2', ORRERY_ROOT_API_KEY: 'hunter2' }
  const fault = (): unknown => parseEnvironment(shape, env)
  expect(fault).toThrow(EnvironmentError)
  expect(fault).toThrow(
    [
      'The environment is invalid:',
      '  ORRERY_PORT: must be a port, 0 to 65535',
      '  ORRERY_DATABASE_URL: is missing (postgres://user:password@host/database)',
      '  ORRERY_RATIO: must be a number, 0 to 1',
      '  ORRERY_ROOT_API_KEY: must have at least 16 characters',
    ].join('\n'),
  )
  expect(fault).not.toThrow(/hunter2/)
})

test('reads a value from the file that its _FILE variable names, without the final line break', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-environment-'))
  const file = join(dir, 'key')
  writeFileSync(file, `${'k'.repeat(16)}\n`)
  const env = { ORRERY_DATABASE_URL: 'postgres://h/d', ORRERY_ROOT_API_KEY_FILE: file }
  expect(parseEnvironment(shape, env).ORRERY_ROOT_API_KEY).toBe('k'.repeat(16))
  expect(() => parseEnvironment(shape, { ...env, ORRERY_ROOT_API_KEY: 'x'.repeat(16) })).toThrow(
    'ORRERY_ROOT_API_KEY: is set twice: unset it or ORRERY_ROOT_API_KEY_FILE',
  )
  rmSync(dir, { recursive: true })
})

test('lists an unreadable file together with all other errors, including those of rules', () => {
  const env = { ORRERY_ROOT_API_KEY_FILE: '/nowhere/key', ORRERY_PORT: 'x' }
  const rule = () => [['ORRERY_PORT', 'does not go with ORRERY_RATIO']] as const
  expect(() => parseEnvironment(shape, env, [rule])).toThrow(
    [
      '  ORRERY_ROOT_API_KEY: cannot be read from the file that ORRERY_ROOT_API_KEY_FILE names',
      '  ORRERY_PORT: must be a port, 0 to 65535',
      '  ORRERY_DATABASE_URL: is missing (postgres://user:password@host/database)',
      '  ORRERY_PORT: does not go with ORRERY_RATIO',
    ].join('\n'),
  )
})

test('reads a table of settings into its groups, and names the variable of each fault', () => {
  const table = {
    port: ['ORRERY_PORT', port().default(8080)],
    logs: { tls: { isOn: ['ORRERY_TLS', flag(false)] }, keys: ['ORRERY_KEYS', decimal(1, 9).default(2)] },
  } as const
  expect(readSettings(table, { ORRERY_TLS: 'true' })).toEqual({ port: 8080, logs: { tls: { isOn: true }, keys: 2 } })
  for (const [text, isOn] of Object.entries({ on: true, off: false, false: false })) {
    expect(readSettings(table, { ORRERY_TLS: text }).logs.tls).toEqual({ isOn })
  }
  expect(() => readSettings(table, { ORRERY_KEYS: '10' })).toThrow('ORRERY_KEYS: must be a number, 1 to 9')
})
