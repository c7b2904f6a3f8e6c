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
/** A machine with an empty cache and without Go. */
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
  test('whose checksum is right is used, is kept, and is not asked for again', async () => {
    host.hasEnvtest(['v1.36.3'])
    const found = await resolve([...envtest])
    expect(contentOf(found.etcd)).toContain('the released etcd')
    expect(cached()).toEqual([...envtest])
    const asked = host.asked.length
    expect(await resolve([...envtest])).toEqual(found)
    expect(host.asked).toHaveLength(asked)
  })

  test('is the newest patch of the same minor version that the list has', async () => {
    host.hasEnvtest(['v1.36.0', 'v1.36.10', 'v1.36.2', 'v1.37.1', 'v1.36.11-rc.0', 'v1.3.99'])
    await resolve([...envtest])
    expect(host.asked).toContain('/v1.36.10.tar.gz')
  })

  test('whose checksum is wrong is refused, and nothing of it is kept', async () => {
    host.hasEnvtest(['v1.36.3'])
    host.wrong.add('/v1.36.3.tar.gz')
    await expect(resolve(['etcd'])).rejects.toThrow(/checksum of .*v1\.36\.3\.tar\.gz .*nothing of it was used/)
    expect(cached()).toEqual([])
  })

  test('that breaks off is not used, and the next source is asked', async () => {
    host.hasEnvtest(['v1.36.3'])
    host.cut.add('/v1.36.3.tar.gz')
    await expect(resolve(['etcd'])).rejects.toThrow(
      /v1\.36\.3\.tar\.gz could not be downloaded(.|\n)*Go: there is none/,
    )
    expect(cached()).toEqual([])
    host.hasKubernetes(['kubectl'])
    expect(contentOf((await resolve(['kubectl'])).kubectl)).toContain('the released kubectl')
  })

  test('leaves what KUBEBUILDER_ASSETS has to it', async () => {
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

  test.runIf(process.platform === 'linux')('have what the archive lacks, each with its checksum', async () => {
    host.hasKubernetes(servers)
    host.hasKwok()
    const found = await resolve([...servers, 'kwok'])
    for (const [name, path] of Object.entries(found)) expect(contentOf(path)).toContain(`the released ${name}`)
    expect(cached()).toEqual([...servers, 'kwok'].sort())
  })

  test('are refused where a checksum is wrong, and nothing of the file is kept', async () => {
    host.hasKubernetes(['kubectl'])
    host.wrong.add(host.pathOf('kubectl'))
    await expect(resolve(['kubectl'])).rejects.toThrow(/checksum of .*kubectl is/)
    host.hasKwok()
    host.wrong.add('/kwok')
    await expect(resolve(['kwok'])).rejects.toThrow(/checksum of .*kwok is/)
    expect(cached()).toEqual([])
  })

  test('are not used where the checksum is not stated', async () => {
    host.hasKwok({ digest: false })
    await expect(resolve(['kwok'])).rejects.toThrow('names no file with a digest')
    expect(host.asked).not.toContain('/kwok')
  })
})

describe('where no release host answers', () => {
  const away = () => machine(noReleaseHost)
  /** As Go builds: it writes the file that -o names. */
  const aGo = (build: string): void =>
    anExecutable('bin', 'go', `#!/bin/sh\n[ "$1" = env ] && exit 0\nPATH=/usr/bin:/bin\n${build}\n`)
  const path = () => ({ ...away(), PATH: [join(dir, 'bin'), '/usr/bin', '/bin'].join(delimiter) })

  test('Go builds the programs', async () => {
    aGo('printf "#!/bin/sh\\necho built\\n" > "$5" && chmod +x "$5"')
    expect(contentOf((await resolve(['etcd'], path())).etcd)).toContain('built')
  })

  test('a build that fails leaves nothing, and its own words are in the error', async () => {
    aGo('echo half > "$5"; echo "dial tcp: no route to the proxy" >&2; exit 1')
    await expect(resolve(['etcd'], path())).rejects.toThrow('no route to the proxy')
    expect(cached()).toEqual([])
  })

  test('and nothing else is there, one error names what is missing, what was tried, and what would do', async () => {
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
