import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { afterAll, expect, test } from 'vitest'
import { withDefined } from '#shared/optional.ts'
import { fc } from '#test/support/fastCheck.ts'
import { loadCredentials } from './config.ts'

const dir = mkdtempSync(join(tmpdir(), 'kubeconfig-oracle-'))
afterAll(() => rmSync(dir, { recursive: true }))
for (const name of ['ca', 'cert', 'key']) writeFileSync(join(dir, name), `${name} of a file`)

/** Generates one of the objects, or an empty one. */
const oneOf = (...members: object[]) => fc.constantFrom({}, ...members)
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const clusters = fc
  .tuple(
    oneOf({ 'certificate-authority': 'ca' }, { 'certificate-authority-data': base64('ca') }),
    oneOf({ 'tls-server-name': 'kubernetes' }),
    oneOf({ 'insecure-skip-tls-verify': true }, { 'insecure-skip-tls-verify': false }),
    oneOf({ 'proxy-url': 'http://proxy.test:3128' }, { 'proxy-url': 'socks5://proxy.test' }),
  )
  .map((members) => Object.assign({ server: 'https://cluster.test:6443' }, ...members))
const users = fc
  .tuple(
    oneOf(
      { 'client-certificate': 'cert', 'client-key': 'key' },
      { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
    ),
    oneOf({ token: 'sesame' }, { username: 'me', password: 'sesame' }),
    oneOf({ as: 'ops' }),
  )
  .map((members) => Object.assign({}, ...members))

/** Returns server, trust and identity as the kit reads them. */
const readByKit = async (path: string) => {
  const credentials = loadCredentials({}, { path })
  return {
    server: credentials.server,
    proxyUrl: credentials.proxyUrl,
    tls: await credentials.tls(),
    headers: await credentials.headers(),
  }
}

/** Returns the same as `@kubernetes/client-node` reads them. */
const readByOracle = async (path: string) => {
  const config = new KubeConfig()
  config.loadFromFile(path)
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const { Authorization, 'Impersonate-User': as } = { ...options.headers } as Record<string, string>
  const authorization = typeof options.auth === 'string' ? `Basic ${base64(options.auth)}` : Authorization
  const text = (value: unknown): string | undefined => (value ? String(value) : undefined)
  return {
    server: config.getCurrentCluster()?.server,
    proxyUrl: config.getCurrentCluster()?.proxyUrl,
    tls: withDefined({
      ca: text(options.ca),
      cert: text(options.cert),
      key: text(options.key),
      servername: options.servername,
      rejectUnauthorized: options.rejectUnauthorized === false ? (false as const) : undefined,
    }),
    headers: withDefined({ authorization, 'impersonate-user': as }),
  }
}

test('reads a kubeconfig as @kubernetes/client-node does, in every combination that both support', async () => {
  const path = join(dir, 'config')
  await fc.assert(
    fc.asyncProperty(clusters, users, async (cluster, user) => {
      const contexts = [{ name: 'here', context: { cluster: 'c', user: 'u' } }]
      const entries = { clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user }], contexts }
      writeFileSync(path, JSON.stringify({ 'current-context': 'here', ...entries }))
      expect(await readByKit(path)).toEqual(await readByOracle(path))
    }),
    { numRuns: 300 },
  )
})
