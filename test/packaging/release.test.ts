import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { getServers } from '#test/support/servers.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const version = '9.9.9'
const outDir = join(project, 'dist/release', version)
const dir = mkdtempSync(join(tmpdir(), 'orrery-release-test-'))
const run = (command: string, args: string[], input = ''): string =>
  execFileSync(command, args, { cwd: project, encoding: 'utf8', input, timeout: 900_000, maxBuffer: 2 ** 28 })
const unpack = (file: string): string => {
  run('tar', ['-xzf', join(outDir, file), '-C', dir])
  return dir
}

let before: string
let said: string
beforeAll(() => {
  before = run('git', ['status', '--porcelain'])
  said = run(process.execPath, ['dev/release.ts', version, '--dry-run'])
}, 900_000)
afterAll(() => {
  for (const path of [outDir, dir]) rmSync(path, { recursive: true, force: true })
})

test('a dry run changes nothing in the checkout, and signs nothing without a key', () => {
  expect(run('git', ['status', '--porcelain'])).toBe(before)
  expect(said).toContain('not signed, since COSIGN_KEY is not set')
})

test('a release has all artifacts, with their checksums', () => {
  const sums = readFileSync(join(outDir, 'SHA256SUMS'), 'utf8').trimEnd().split('\n')
  expect(sums.map((line) => line.split('  ')[1])).toEqual([
    'CHANGELOG.md',
    'bot-9.9.9.cdx.json',
    'bot-9.9.9.tar.gz',
    'install.yaml',
    'openapi.json',
    'orrery-9.9.9.cdx.json',
    'orrery-9.9.9.tar.gz',
    'orrery-9.9.9.tgz',
    'orrery-client-9.9.9.tgz',
    'world-server-9.9.9.cdx.json',
    'world-server-9.9.9.tar.gz',
  ])
  for (const line of sums) {
    const [sum, name = ''] = line.split('  ')
    expect(
      createHash('sha256')
        .update(readFileSync(join(outDir, name)))
        .digest('hex'),
      name,
    ).toBe(sum)
  }
  expect(readdirSync(outDir)).toHaveLength(sums.length + 1)
})

test('the chart, its definitions and the changelog bear the version', () => {
  const chart = join(unpack('orrery-9.9.9.tgz'), 'orrery')
  expect(readFileSync(join(chart, 'Chart.yaml'), 'utf8')).toMatch(/^appVersion: 9\.9\.9$[\s\S]*^version: 9\.9\.9$/m)
  const definition = readFileSync(join(chart, 'templates/crds/orrery.dev_worlds.yaml'), 'utf8')
  expect(definition).toContain('orrery.dev/version: 9.9.9')
  expect(readFileSync(join(outDir, 'CHANGELOG.md'), 'utf8')).toMatch(
    /^# Changelog\n\n## 9\.9\.9 \(.*\)\n\n### Features\n/,
  )
})

test.each(['orrery', 'world-server', 'bot'])(
  'the image %s bears the version and the commit, and its list the version',
  (name) => {
    const archive = unpack(`${name}-9.9.9.tar.gz`)
    const [{ Config }] = JSON.parse(readFileSync(join(archive, 'manifest.json'), 'utf8'))
    expect(JSON.parse(readFileSync(join(archive, Config), 'utf8')).config.Labels).toMatchObject({
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': run('git', ['rev-parse', 'HEAD']).trim(),
    })
    const { metadata } = JSON.parse(readFileSync(join(outDir, `${name}-9.9.9.cdx.json`), 'utf8'))
    expect(metadata.component.version).toBe(version)
  },
)

test('the API server accepts install.yaml, which has no secret', () => {
  const manifests = parseAllDocuments(readFileSync(join(outDir, 'install.yaml'), 'utf8')).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string } } | null,
  )
  expect(manifests.filter((each) => each?.kind === 'Secret')).toEqual([])
  const kubectl = (args: string[], input = ''): string =>
    run(getServers().kubectl, ['--kubeconfig', getServers().adminKubeconfig, ...args], input)
  kubectl(['apply', '-f', '-'], 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: orrery\n')
  const file = join(outDir, 'install.yaml')
  expect(kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', file])).toContain(
    'deployment.apps/orrery-api',
  )
})

test('the client package can be loaded, and the OpenAPI document has the operations', async () => {
  const entry = join(unpack('orrery-client-9.9.9.tgz'), 'package/client.js')
  const script = `
    import { createClient } from ${JSON.stringify(entry)}
    console.log(typeof createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }).listWorlds)`
  expect(run(process.execPath, ['--input-type=module', '--eval', script])).toBe('function\n')
  const { openapi, paths } = JSON.parse(readFileSync(join(outDir, 'openapi.json'), 'utf8'))
  expect(openapi).toMatch(/^3\./)
  expect(paths['/api/worlds/']).toBeDefined()
})
