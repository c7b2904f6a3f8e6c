import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createReleaseHost, noReleaseHost } from '#test/support/releaseHost.ts'
import { cacheDir, resolveBinaries } from './binaries.ts'

let dir: string
let host: Awaited<ReturnType<typeof createReleaseHost>>
const released = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kwok']

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-sources-'))
  for (const folder of ['released', 'bin']) mkdirSync(join(dir, folder))
  for (const name of released) anExecutable('released', name, `#!/bin/sh\necho the released ${name}\n`)
  host = await createReleaseHost(join(dir, 'released'))
})
afterEach(async () => {
  await host.close()
  rmSync(dir, { recursive: true, force: true })
})

const anExecutable = (folder: string, name: string, text: string): void => {
  writeFileSync(join(dir, folder, name), text)
  chmodSync(join(dir, folder, name), 0o755)
}
/** The environment of a machine with an empty cache and without Go. */
const machine = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: join(dir, 'bin'),
  XDG_CACHE_HOME: join(dir, 'cache'),
  ...host.environment,
  ...more,
})
const progress = (): void => undefined
const resolve = <B extends Parameters<typeof resolveBinaries>[0][number]>(names: B[], env = machine()) =>
  resolveBinaries(names, { env, progress })
const cached = (): string[] => (existsSync(cacheDir(machine())) ? readdirSync(cacheDir(machine())).sort() : [])
const contentOf = (path: string): string => readFileSync(path, 'utf8')
const envtest = ['etcd', 'kube-apiserver', 'kubectl'] as const

describe('the envtest archive', () => {
  test('with the right checksum is used, cached and not downloaded again', async () => {
    host.hasEnvtest(['v1.36.3'])
    const found = await resolve([...envtest])
    expect(contentOf(found.etcd)).toContain('the released etcd')
    expect(cached()).toEqual([...envtest])
    const asked = host.asked.length
    expect(await resolve([...envtest])).toEqual(found)
    expect(host.asked).toHaveLength(asked)
  })

  test('is the newest patch of the same minor version in the list', async () => {
    host.hasEnvtest(['v1.36.0', 'v1.36.10', 'v1.36.2', 'v1.37.1', 'v1.36.11-rc.0', 'v1.3.99'])
    await resolve([...envtest])
    expect(host.asked).toContain('/v1.36.10.tar.gz')
  })

  test('with a wrong checksum is refused and not kept', async () => {
    host.hasEnvtest(['v1.36.3'])
    host.wrong.add('/v1.36.3.tar.gz')
    await expect(resolve(['etcd'])).rejects.toThrow(/checksum of .*v1\.36\.3\.tar\.gz .*The file was not used/)
    expect(cached()).toEqual([])
  })

  test('that breaks off is not used, and the next source is tried', async () => {
    host.hasEnvtest(['v1.36.3'])
    host.cut.add('/v1.36.3.tar.gz')
    await expect(resolve(['etcd'])).rejects.toThrow(
      /v1\.36\.3\.tar\.gz could not be downloaded(.|\n)*Go: there is none/,
    )
    expect(cached()).toEqual([])
    host.hasKubernetes(['kubectl'])
    expect(contentOf((await resolve(['kubectl'])).kubectl)).toContain('the released kubectl')
  })

  test('does not replace programs of KUBEBUILDER_ASSETS', async () => {
    host.hasEnvtest(['v1.36.3'])
    mkdirSync(join(dir, 'assets'))
    anExecutable('assets', 'etcd', 'mine')
    const found = await resolve([...envtest], machine({ KUBEBUILDER_ASSETS: join(dir, 'assets') }))
    expect(contentOf(found.etcd)).toBe('mine')
    expect(cached()).toEqual(['kube-apiserver', 'kubectl'])
  })
})

describe('the official releases', () => {
  const servers = ['kube-controller-manager', 'kube-scheduler', 'kubelet'] as const

  test.runIf(process.platform === 'linux')('provide what the archive lacks, with checksums', async () => {
    host.hasKubernetes(servers)
    host.hasKwok()
    const found = await resolve([...servers, 'kwok'])
    for (const [name, path] of Object.entries(found)) expect(contentOf(path)).toContain(`the released ${name}`)
    expect(cached()).toEqual([...servers, 'kwok'].sort())
  })

  test('are refused and not kept if a checksum is wrong', async () => {
    host.hasKubernetes(['kubectl'])
    host.wrong.add(host.pathOf('kubectl'))
    await expect(resolve(['kubectl'])).rejects.toThrow(/checksum of .*kubectl is/)
    host.hasKwok()
    host.wrong.add('/kwok')
    await expect(resolve(['kwok'])).rejects.toThrow(/checksum of .*kwok is/)
    expect(cached()).toEqual([])
  })

  test('are not used without a checksum', async () => {
    host.hasKwok({ digest: false })
    await expect(resolve(['kwok'])).rejects.toThrow('names no file with a digest')
    expect(host.asked).not.toContain('/kwok')
  })
})

describe('without a release host', () => {
  const away = () => machine(noReleaseHost)
  /** Replaces Go by a script that writes the file of the -o flag, its fourth argument. */
  const aGo = (build: string): void =>
    anExecutable('bin', 'go', `#!/bin/sh\n[ "$1" = env ] && exit 0\nPATH=/usr/bin:/bin\n${build}\n`)
  const path = () => ({ ...away(), PATH: [join(dir, 'bin'), '/usr/bin', '/bin'].join(delimiter) })

  test('Go builds the programs', async () => {
    aGo('printf "#!/bin/sh\\necho built\\n" > "$4" && chmod +x "$4"')
    expect(contentOf((await resolve(['etcd'], path())).etcd)).toContain('built')
  })

  test('the modules and packages of a build are counted', async () => {
    aGo('printf "#!/bin/sh\\n" > "$4" && chmod +x "$4"; printf "go: downloading a v1\\nexample.com/a/b\\nc\\n" >&2')
    const lines: string[] = []
    await resolveBinaries(['etcd'], { env: path(), progress: (line) => lines.push(line) })
    expect(lines.at(-1)?.replace(/\d+ s/, 'N s')).toBe('built etcd in N s: modules downloaded: 1, packages compiled: 2')
  })

  test('a failed build leaves nothing, and its output is in the error', async () => {
    aGo('echo half > "$4"; echo "dial tcp: no route to the proxy" >&2; exit 1')
    await expect(resolve(['etcd'], path())).rejects.toThrow('no route to the proxy')
    expect(cached()).toEqual([])
  })

  test('and without Go, one error names the missing programs, the tried sources and the alternatives', async () => {
    mkdirSync(join(dir, 'assets'))
    for (const name of envtest) anExecutable('assets', name, '')
    const env = { ...away(), KUBEBUILDER_ASSETS: join(dir, 'assets') }
    const wanted = [...envtest, 'kube-scheduler', 'kwok'] as const
    const message = await resolve([...wanted], env).then(String, (error: Error) => error.message)
    expect(message.split('\n')[0]).toBe(
      'This machine has no kube-scheduler, kwok, and no source of Kubernetes has them:',
    )
    for (const said of [
      noReleaseHost.ORRERY_KUBERNETES_RELEASES,
      noReleaseHost.ORRERY_KWOK_RELEASE,
      'Go: there is none',
    ])
      expect(message).toContain(said)
    for (const way of ['KUBECONFIG', 'KUBEBUILDER_ASSETS', 'network', 'Go 1.26']) expect(message).toContain(way)
    expect(message).not.toContain('envtest')
  })
})
