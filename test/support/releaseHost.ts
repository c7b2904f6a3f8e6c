import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newestRelease } from '#dev/kubernetes/binaries.ts'
import { platform } from '#dev/kubernetes/hosts.ts'

/** Environment variables with which no release host answers: nothing listens on these ports. */
export const noReleaseHost = {
  ORRERY_ENVTEST_INDEX: 'http://127.0.0.1:1/index.yaml',
  ORRERY_KUBERNETES_RELEASES: 'http://127.0.0.1:1/release',
  ORRERY_KWOK_RELEASE: 'http://127.0.0.1:1/kwok',
}

const hash = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex')
const here = `${platform.os}-${platform.architecture}`

/** Builds an archive like that of envtest: the programs are files of `folder`, two folders deep. */
const archiveOf = (folder: string, programs: readonly string[]): Buffer => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-archive-'))
  const inside = join(dir, 'controller-tools', 'envtest')
  mkdirSync(inside, { recursive: true })
  for (const name of programs) copyFileSync(join(folder, name), join(inside, name))
  execFileSync('tar', ['-I', 'gzip -1', '-cf', 'archive.tar.gz', 'controller-tools'], { cwd: dir })
  const bytes = readFileSync(join(dir, 'archive.tar.gz'))
  rmSync(dir, { recursive: true })
  return bytes
}

/**
 * Starts a host on loopback that answers like the official release hosts, with the programs of a folder. A path in
 * `wrong` is served with bytes that do not match its checksum, and one in `cut` breaks off in the middle.
 */
export const createReleaseHost = async (folder: string) => {
  const served = new Map<string, Buffer | string>()
  const wrong = new Set<string>()
  const cut = new Set<string>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const body = served.get(path)
    if (body === undefined) return response.writeHead(404).end('not found')
    if (wrong.has(path)) return response.end('other bytes')
    if (!cut.has(path)) return response.end(body)
    response.writeHead(200, { 'content-length': body.length })
    response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const release = `/release/v${newestRelease.version}/bin/${platform.os}/${platform.architecture}`
  return {
    wrong,
    cut,
    asked,
    environment: {
      ORRERY_ENVTEST_INDEX: `${url}/index.yaml`,
      ORRERY_KUBERNETES_RELEASES: `${url}/release`,
      ORRERY_KWOK_RELEASE: `${url}/kwok.json`,
    },
    /** Lists an archive for each version; the paths of the archives are `/<version>.tar.gz`. */
    hasEnvtest: (versions: readonly string[], programs = ['etcd', 'kube-apiserver', 'kubectl']): void => {
      const archive = archiveOf(folder, programs)
      const lines = versions.flatMap((version) => {
        served.set(`/${version}.tar.gz`, archive)
        const file = `envtest-${version}-${here}.tar.gz`
        return [
          `  ${version}:`,
          `    ${file}:`,
          `      hash: ${hash('sha512', archive)}`,
          `      selfLink: ${url}/${version}.tar.gz`,
        ]
      })
      served.set('/index.yaml', ['releases:', ...lines].join('\n'))
    },
    hasKubernetes: (programs: readonly string[]): void => {
      for (const name of programs) {
        const bytes = readFileSync(join(folder, name))
        served.set(`${release}/${name}`, bytes)
        served.set(`${release}/${name}.sha512`, hash('sha512', bytes))
      }
    },
    hasKwok: ({ digest = true } = {}): void => {
      const bytes = readFileSync(join(folder, 'kwok'))
      served.set('/kwok', bytes)
      const asset = { name: `kwok-${here}`, browser_download_url: `${url}/kwok` }
      const stated = digest ? { digest: `sha256:${hash('sha256', bytes)}` } : {}
      served.set('/kwok.json', JSON.stringify({ assets: [{ ...asset, ...stated }] }))
    },
    /** Returns the path at which a program of the Kubernetes release is served. */
    pathOf: (name: string): string => `${release}/${name}`,
    close: (): Promise<void> =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}
