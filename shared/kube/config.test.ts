import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { loadCredentials } from './config.ts'
import { createCredentials } from './credentials.ts'
import { json, startScriptedServer } from './testing/scriptedServer.ts'
import { createTransport } from './transport.ts'

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
const kubeconfigWith = (more: { cluster?: object; user?: object; context?: string } = {}) => ({
  'current-context': more.context ?? 'here',
  contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
  clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443/', ...more.cluster } }],
  users: [{ name: 'u', user: { token: 'sesame', ...more.user } }],
})
const load = (content: unknown) => loadCredentials({ KUBECONFIG: write(content) })
const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('reads server, authority, client certificate and token from a kubeconfig', async () => {
  const credentials = load(
    kubeconfigWith({
      cluster: { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kubernetes' },
      user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    }),
  )
  expect(credentials.server).toBe('https://10.0.0.1:6443')
  expect(await credentials.tls()).toEqual({ ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'kubernetes' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer sesame' })
})

test('resolves file names relative to the kubeconfig, and sends user name and password as Basic', async () => {
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  const user = { token: undefined, username: 'me', password: 'sesame' }
  const credentials = load(kubeconfigWith({ cluster: { 'certificate-authority': 'ca.crt' }, user }))
  expect(await credentials.tls()).toEqual({ ca: 'CA' })
  expect(await credentials.headers()).toEqual({ authorization: `Basic ${base64('me:sesame')}` })
})

test('merges several kubeconfigs, and the first one that names an entry wins', async () => {
  const first = write({ 'current-context': 'here', users: [{ name: 'u', user: { token: 'first' } }] })
  const credentials = loadCredentials({ KUBECONFIG: `${first}:${write(kubeconfigWith({ context: 'there' }))}` })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer first' })
})

test('prefers a given path to KUBECONFIG', () => {
  const path = write(kubeconfigWith({ cluster: { server: 'http://127.0.0.1:1' } }))
  expect(loadCredentials({ KUBECONFIG: '/nowhere' }, { path }).server).toBe('http://127.0.0.1:1')
})

test('uses the service account inside a pod', async () => {
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  writeFileSync(join(dir, 'token'), 'pod-token\n')
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const credentials = loadCredentials(env, { serviceAccount: dir })
  expect(credentials.server).toBe('https://[fd00::1]:443')
  expect(await credentials.tls()).toEqual({ ca: 'CA' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer pod-token' })
})

test('impersonates user, uid, groups and extra fields', async () => {
  const user = {
    as: 'ops',
    'as-uid': '0042',
    'as-groups': ['system:authenticated', 'admins'],
    'as-user-extra': { scopes: ['a', 'b'], 'example.test/why?': ['c'] },
  }
  expect(await load(kubeconfigWith({ user })).headers()).toEqual({
    authorization: 'Bearer sesame',
    'impersonate-user': 'ops',
    'impersonate-uid': '0042',
    'impersonate-group': ['system:authenticated', 'admins'],
    'impersonate-extra-scopes': ['a', 'b'],
    'impersonate-extra-example.test%2Fwhy%3F': ['c'],
  })
})

test('sends each impersonated group as a header of its own', async () => {
  const server = await startScriptedServer({ others: [json({})] })
  const credentials = load(
    kubeconfigWith({
      cluster: { server: server.credentials.server },
      user: { as: 'ops', 'as-groups': ['one', 'two'] },
    }),
  )
  const transport = createTransport({ credentials, userAgent: 'tests' })
  onTestFinished(() => Promise.all([transport.close(), server.close()]).then(() => undefined))
  await transport.request({ method: 'GET', path: '/x' })
  expect(server.received[0]?.headers['impersonate-group']).toBe('one, two')
})

test('prefers tokenFile to token, and falls back to token while the file is unreadable', async () => {
  const file = join(dir, 'token-of-file')
  writeFileSync(file, 'from-file')
  const token = 'from-config'
  expect(await load(kubeconfigWith({ user: { token, tokenFile: file } })).headers()).toEqual({
    authorization: 'Bearer from-file',
  })
  rmSync(file)
  expect(await createCredentials({ server: 'https://x', token, tokenFile: file }).headers()).toEqual({
    authorization: 'Bearer from-config',
  })
  expect(() => load(kubeconfigWith({ user: { token: undefined, tokenFile: file } }))).toThrow('tokenFile')
})

const startProxy = async (): Promise<{ port: number; requested: string[] }> => {
  const requested: string[] = []
  const server: Server = createServer((request, response) => {
    requested.push(`${request.method} ${request.url}`)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"through":"proxy"}')
  })
  server.on('connect', (request, socket) => {
    requested.push(`CONNECT ${request.url}`)
    const [host, port] = (request.url ?? '').split(':')
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    })
    for (const each of [upstream, socket]) each.on('error', () => [upstream, socket].map((end) => end.destroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, requested }
}

test('sends requests through proxy-url: forwarded for an http server, tunnelled for an https server', async () => {
  const proxy = await startProxy()
  const through = (server: string) => {
    const cluster = { server, 'proxy-url': `http://127.0.0.1:${proxy.port}`, 'insecure-skip-tls-verify': true }
    const transport = createTransport({ credentials: load(kubeconfigWith({ cluster })), userAgent: 'tests' })
    onTestFinished(() => transport.close())
    return transport.request({ method: 'POST', path: '/x', body: {} })
  }
  expect(await through('http://10.255.255.1')).toEqual({ through: 'proxy' })
  await expect(through('https://127.0.0.1:1')).rejects.toMatchObject({ reason: 'Unreachable' })
  expect(proxy.requested).toEqual(['POST http://10.255.255.1/x', 'CONNECT 127.0.0.1:1'])
})

test.each([
  ['no configuration', () => loadCredentials({}), 'Set KUBECONFIG to a kubeconfig file, or run inside a cluster.'],
  ['a missing file', () => loadCredentials({ KUBECONFIG: '/no/such' }), "no such file or directory, open '/no/such'"],
  ['invalid YAML', () => load('a: [b'), 'is not valid YAML: '],
  ['a document that is no mapping', () => load('just words'), 'must be a mapping with clusters, users and contexts'],
  ['clusters that are no list', () => load({ clusters: {} }), 'clusters must be a list'],
  ['an entry without a name', () => load({ clusters: [{}] }), 'clusters[0] must have a name'],
  ['no current context', () => load({ clusters: [] }), 'has no current-context'],
  ['an unknown context', () => load(kubeconfigWith({ context: 'x' })), 'has no context named x'],
  [
    'a server that is no URL',
    () => load(kubeconfigWith({ cluster: { server: 'x' } })),
    'must be an http or https URL, but is "x"',
  ],
  ['a missing server', () => load(kubeconfigWith({ cluster: { server: undefined } })), 'but is missing'],
  [
    'a missing authority',
    () => load(kubeconfigWith({ cluster: { 'certificate-authority': '/no/ca' } })),
    'certificate-authority cannot be read: ENOENT',
  ],
  [
    'an unsupported proxy scheme',
    () => load(kubeconfigWith({ cluster: { 'proxy-url': 'ftp://x' } })),
    'proxy-url must be an http, https or socks5 URL',
  ],
  ['impersonated groups without a user', () => load(kubeconfigWith({ user: { 'as-groups': ['g'] } })), 'without as'],
  [
    'an auth-provider',
    () => load(kubeconfigWith({ user: { 'auth-provider': {} } })),
    'auth-provider, which Kubernetes removed in version 1.26',
  ],
  [
    'a plugin without a command',
    () => load(kubeconfigWith({ user: { exec: {} } })),
    'must have a command and an apiVersion',
  ],
])('rejects %s with an error that names the cause', (_case, attempt, sentence) => {
  expect(attempt).toThrow(sentence)
})

test('shows no secret in an error message', () => {
  const secrets = { password: 'open-sesame' }
  const proxy = () => load(kubeconfigWith({ user: secrets, cluster: { 'proxy-url': 'ftp://me:open-sesame@x' } }))
  for (const attempt of [() => load(kubeconfigWith({ user: secrets, cluster: { server: 'x' } })), proxy]) {
    expect(attempt).toThrow(expect.not.stringContaining('sesame'))
  }
})

test('reads the token file again after a refusal, and returns the same TLS options until a file changes', async () => {
  const [ca, token] = [join(dir, 'ca-2'), join(dir, 'token-2')]
  writeFileSync(ca, 'CA')
  writeFileSync(token, 'old')
  let nowMs = 0
  const credentials = createCredentials({ server: 'https://x', ca: { file: ca }, tokenFile: token }, () => nowMs)
  const before = await credentials.tls()
  writeFileSync(`${token}-new`, 'new')
  renameSync(`${token}-new`, token)
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer old' })
  nowMs = 5_000
  credentials.reportRefusal()
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer new' })
  expect(await credentials.tls()).toBe(before)
  writeFileSync(ca, 'CA-2')
  nowMs = 20_000
  expect(await credentials.tls()).toEqual({ ca: 'CA-2' })
})

test('runs a credential plugin once while its credential is valid', async () => {
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
  const credentials = load(kubeconfigWith({ user: { token: undefined, exec } }))
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer from-plugin' })
  expect(await credentials.headers()).toEqual({ authorization: 'Bearer from-plugin' })
  const failing = load(kubeconfigWith({ user: { token: undefined, exec: { ...exec, env: [] } } }))
  await expect(failing.headers()).rejects.toThrow('The credential plugin')
})

test('passes the cluster to a credential plugin only if provideClusterInfo is set', async () => {
  const script = join(dir, 'echo-plugin')
  writeFileSync(
    script,
    `#!${process.execPath}
     const token = process.env.KUBERNETES_EXEC_INFO
     console.log(JSON.stringify({ status: { token } }))`,
  )
  chmodSync(script, 0o755)
  writeFileSync(join(dir, 'ca.crt'), 'CA')
  const cluster = {
    server: 'https://cluster.test',
    'certificate-authority': 'ca.crt',
    'tls-server-name': 'kubernetes',
    'proxy-url': 'http://proxy.test:3128',
    extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }],
  }
  const infoFor = async (provideClusterInfo: boolean): Promise<unknown> => {
    const exec = { command: script, apiVersion: 'client.authentication.k8s.io/v1', provideClusterInfo }
    const { authorization } = await load(kubeconfigWith({ cluster, user: { token: undefined, exec } })).headers()
    return JSON.parse(String(authorization).slice('Bearer '.length))
  }
  expect(await infoFor(false)).toMatchObject({ kind: 'ExecCredential', spec: { interactive: false } })
  expect(await infoFor(true)).toEqual({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      cluster: {
        server: 'https://cluster.test',
        'tls-server-name': 'kubernetes',
        'certificate-authority-data': base64('CA'),
        'proxy-url': 'http://proxy.test:3128',
        config: { audience: 'a' },
      },
    },
  })
})
