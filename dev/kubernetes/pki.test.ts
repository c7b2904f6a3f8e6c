import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openPki } from './pki.ts'

const nowMs = Date.UTC(2030, 0, 1)
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-pki-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const read = (file: string): X509Certificate => new X509Certificate(readFileSync(file))

describe('the development authority', () => {
  test('puts user and groups into client certificates', async () => {
    const pki = await openPki(dir, nowMs)
    const { certFile } = await pki.client({ user: 'system:node:one', groups: ['system:nodes', 'others'] })
    const certificate = read(certFile)
    expect(certificate.subject.split('\n')).toEqual(['O=system:nodes', 'O=others', 'CN=system:node:one'])
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
    expect(certificate.verify(read(pki.caFile).publicKey)).toBe(true)
  })

  test('puts names and addresses into server certificates', async () => {
    const pki = await openPki(dir, nowMs)
    const certificate = read((await pki.server('example', ['localhost', '127.0.0.1'])).certFile)
    expect(certificate.checkHost('localhost')).toBe('localhost')
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
    expect(certificate.checkHost('elsewhere')).toBeUndefined()
    expect(certificate.verify(read(pki.caFile).publicKey)).toBe(true)
  })

  test('keeps its keys when it is opened again', async () => {
    const first = await openPki(dir, nowMs)
    const before = [first.caFile, (await first.signingKey()).keyFile].map((file) => readFileSync(file, 'utf8'))
    const second = await openPki(dir, nowMs + 86_400_000)
    const after = [second.caFile, (await second.signingKey()).keyFile].map((file) => readFileSync(file, 'utf8'))
    expect(after).toEqual(before)
  })

  test('writes files that only their owner can read', async () => {
    const pki = await openPki(dir, nowMs)
    await pki.client({ user: 'admin' })
    await pki.signingKey()
    const modes = readdirSync(dir).map((file) => statSync(join(dir, file)).mode & 0o777)
    expect(new Set(modes)).toEqual(new Set([0o600]))
  })

  test('with damaged files is an error that names them and says what to do', async () => {
    await openPki(dir, nowMs)
    writeFileSync(join(dir, 'ca.crt'), 'half')
    await expect(openPki(dir, nowMs)).rejects.toThrow(`${dir} cannot be read (ca.crt and ca.key). Start with --reset`)
  })
})
