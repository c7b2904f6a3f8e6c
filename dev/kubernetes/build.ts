import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Progress } from '#dev/progress.ts'

const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  kwok: 'sigs.k8s.io/kwok/cmd/kwok',
} as const

/** The programs of Kubernetes that this machine may run. */
export type Binary = keyof typeof packages

const progressEveryMs = 15_000
const buildTimeoutMs = 30 * 60_000

/** The installed Go's version, or undefined where there is none. */
export const goVersion = (): string | undefined => {
  try {
    return execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

/**
 * Builds one program from the module proxy into the cache. It is written aside, asked for its version, and only then
 * renamed into place, so that a half-written one is never used; Go's own cache lets an interrupted build go on.
 */
export const buildBinary = async (options: {
  name: Binary
  cache: string
  version: string
  progress: Progress
}): Promise<void> => {
  const { name, cache, version, progress } = options
  const aside = mkdtempSync(join(cache, `.${name}-`))
  const output = join(aside, name)
  const [major, minor] = version.split('.')
  const set = (key: string, value: string): string => `-X k8s.io/component-base/version.${key}=${value}`
  const flags = ['-s -w', set('gitVersion', `v${version}`), set('gitMajor', major ?? ''), set('gitMinor', minor ?? '')]
  try {
    await run('go', ['build', '-ldflags', flags.join(' '), '-o', output, packages[name]], name, progress)
    execFileSync(output, [name === 'kubectl' ? 'version' : '--version', ...(name === 'kubectl' ? ['--client'] : [])], {
      stdio: 'ignore',
      timeout: 30_000,
    })
    renameSync(output, join(cache, name))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const run = (command: string, args: string[], name: string, progress: Progress): Promise<void> =>
  new Promise((resolve, reject) => {
    const startedMs = Date.now()
    const seconds = (): number => Math.round((Date.now() - startedMs) / 1000)
    progress(`building ${name} from the Go module proxy (once; all of Kubernetes takes about 6 minutes)`)
    const child = spawn(command, args, {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: buildTimeoutMs,
    })
    const timer = setInterval(() => progress(`still building ${name} (${seconds()} s)`), progressEveryMs)
    let errors = ''
    child.stderr.on('data', (data: Buffer) => {
      errors = (errors + data.toString()).slice(-4_000)
    })
    child.once('error', reject)
    child.once('exit', (code) => {
      clearInterval(timer)
      if (code === 0) {
        progress(`built ${name} in ${seconds()} s`)
        resolve()
      } else reject(new Error(`${basename(command)} could not build ${name} (exit code ${code}):\n${errors}`))
    })
  })
