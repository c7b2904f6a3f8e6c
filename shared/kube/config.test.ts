import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadCredentials } from './config.ts'
import { createCredentials } from './credentials.ts'

const dir = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
afterAll(() => rmSync(dir, { recursive: true }))

let files = 0
const write = (content: unknown): string => {
  files += 1
  const file = join(dir, `config-${files}`)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

/** A kubeconfig with one cluster and one user. */
const aConfig = (more: { cluster?: object; user?: object; context?: string } = {}) => ({
  'current-context': more.context ?? 'here',
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443/', ...more.cluster } }],
  users: [{ name: 'u', user: { token: 'sesame', ...more.user } }],
})
const load = (content: unknown) => loadCredentials({ KUBECONFIG: write(content) })
const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('a kubeconfig gives the server, the trust, the certificate and the token', async () => {
  const credentials = load(
    aConfig({
      cluster: { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kubernetes' },
      user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY'), as: 'somebody' },
    }),
  )
  expect(credentials.server).toBe('https://10.0.0.1:6443')
  expect(await credentials.tls()).toEqual({ ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'kubernetes' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer sesame', 'impersonate-user': 'somebody' })
})

test('files are found beside their kubeconfig, and a user may have a name and a password', async () => {
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  const user = { token: undefined, username: 'me', password: 'sesame' }
  const credentials = load(aConfig({ cluster: { 'certificate-authority': 'ca.crt' }, user }))
  expect(await credentials.tls()).toEqual({ ca: 'CA' })
  expect(await credentials.headers()).toEqual({ authorization: `Basic ${base64('me:sesame')}` })
})

test('several files are merged, and the first that names a thing wins', async () => {
  const first = write({ 'current-context': 'here', users: [{ name: 'u', user: { token: 'first' } }] })
  const credentials = loadCredentials({ KUBECONFIG: `${first}:${write(aConfig({ context: 'there' }))}` })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer first' })
})

test('a given path goes before KUBECONFIG', () => {
  const path = write(aConfig({ cluster: { server: 'http://127.0.0.1:1' } }))
  expect(loadCredentials({ KUBECONFIG: '/nowhere' }, { path }).server).toBe('http://127.0.0.1:1')
})

test('in a pod the service account is used', async () => {
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  writeFileSync(join(dir, 'token'), 'pod-token\n')
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const credentials = loadCredentials(env, { serviceAccount: dir })
  expect(credentials.server).toBe('https://[fd00::1]:443')
  expect(await credentials.tls()).toEqual({ ca: 'CA' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer pod-token' })
})

test.each([
  ['nothing at all', () => loadCredentials({}), 'set KUBECONFIG to a kubeconfig file, or run inside a cluster'],
  [
    'a file that is not there',
    () => loadCredentials({ KUBECONFIG: '/no/such' }),
    "no such file or directory, open '/no/such'",
  ],
  ['no YAML', () => load('a: [b'), 'is not YAML: '],
  ['no kubeconfig', () => load('just words'), 'is not a kubeconfig: it must hold clusters, users and contexts'],
  ['a list that is none', () => load({ clusters: {} }), 'clusters must be a list'],
  ['no name', () => load({ clusters: [{}] }), 'clusters[0] must have a name'],
  ['no current context', () => load({ clusters: [] }), 'has no current-context'],
  ['an unknown context', () => load(aConfig({ context: 'x' })), 'has no context named x'],
  [
    'a server that is no URL',
    () => load(aConfig({ cluster: { server: 'x' } })),
    'must be an http or https URL, it is "x"',
  ],
  ['a missing server', () => load(aConfig({ cluster: { server: undefined } })), 'it is missing'],
  [
    'a missing CA',
    () => load(aConfig({ cluster: { 'certificate-authority': '/no/ca' } })),
    'its certificate-authority cannot be read: ENOENT',
  ],
  ['a proxy', () => load(aConfig({ cluster: { 'proxy-url': 'socks5://x' } })), 'proxy-url, which is not supported'],
  [
    'a provider of old',
    () => load(aConfig({ user: { 'auth-provider': {} } })),
    'auth-provider, which Kubernetes has removed',
  ],
  ['a plugin without a command', () => load(aConfig({ user: { exec: {} } })), 'must have a command and an apiVersion'],
])('%s is told in a sentence', (_what, attempt, sentence) => {
  expect(attempt).toThrow(sentence)
})

test('the sentences never show a secret', () => {
  const attempt = () => load(aConfig({ user: { password: 'open-sesame' }, cluster: { server: 'x' } }))
  expect(attempt).toThrow(expect.not.stringContaining('sesame'))
})

test('a token that the server refused is read anew, and trust that stays the same is the same object', async () => {
  const [ca, token] = [join(dir, 'ca-2'), join(dir, 'token-2')]
  writeFileSync(ca, 'CA')
  writeFileSync(token, 'old')
  let nowMs = 0
  const credentials = createCredentials({ server: 'https://x', ca: { file: ca }, token: { file: token } }, () => nowMs)
  const before = await credentials.tls()
  writeFileSync(`${token}-new`, 'new')
  renameSync(`${token}-new`, token)
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer old' })
  nowMs = 5_000
  credentials.refused()
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer new' })
  expect(await credentials.tls()).toBe(before)
  writeFileSync(ca, 'CA-2')
  nowMs = 20_000
  expect(await credentials.tls()).toEqual({ ca: 'CA-2' })
})

test('a plugin is asked once for as long as its credential holds', async () => {
  const script = join(dir, 'plugin')
  const credential = { status: { token: 'from-plugin', expirationTimestamp: '2999-01-01T00:00:00Z' } }
  writeFileSync(
    script,
    `#!/bin/sh\necho run >> ${dir}/runs\ntest "$WHO" = me && echo '${JSON.stringify(credential)}'\n`,
  )
  chmodSync(script, 0o755)
  const exec = {
    command: './plugin',
    args: [],
    env: [{ name: 'WHO', value: 'me' }],
    apiVersion: 'client.authentication.k8s.io/v1',
  }
  const credentials = load(aConfig({ user: { token: undefined, exec } }))
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer from-plugin' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer from-plugin' })
  const failing = load(aConfig({ user: { token: undefined, exec: { ...exec, env: [] } } }))
  await expect(failing.headers()).rejects.toThrow('the credential plugin')
})
