import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Progress } from '#dev/progress.ts'
import type { Source } from './hosts.ts'

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

/**
 * Builds the programs from the module proxy. Go's own cache lets an interrupted build go on. A proxy that does not
 * answer is no error here, since a later source may have what is missing.
 */
export const fromGo: Source = async ({ names, cache, version, env, progress }) => {
  if (!hasGo(env)) return 'Go: there is none on the PATH'
  for (const name of names) {
    const failure = await buildBinary({ name, cache, version, env, progress })
    if (failure !== undefined) return `Go: ${failure}`
  }
  return undefined
}

const hasGo = (env: NodeJS.ProcessEnv): boolean => {
  try {
    execFileSync('go', ['env', 'GOVERSION'], { env, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** It is written aside, asked for its version, and only then renamed into place: a half-written one is never used. */
const buildBinary = async (options: {
  name: Binary
  cache: string
  version: string
  env: NodeJS.ProcessEnv
  progress: Progress
}): Promise<string | undefined> => {
  const { name, cache, version, env, progress } = options
  const aside = mkdtempSync(join(cache, `.${name}-`))
  const output = join(aside, name)
  const [major, minor] = version.split('.')
  const set = (key: string, value: string): string => `-X k8s.io/component-base/version.${key}=${value}`
  const flags = ['-s -w', set('gitVersion', `v${version}`), set('gitMajor', major ?? ''), set('gitMinor', minor ?? '')]
  try {
    const args = ['build', '-ldflags', flags.join(' '), '-o', output, packages[name]]
    const failure = await runGo(args, name, env, progress)
    if (failure !== undefined) return failure
    execFileSync(output, [name === 'kubectl' ? 'version' : '--version', ...(name === 'kubectl' ? ['--client'] : [])], {
      stdio: 'ignore',
      timeout: 30_000,
    })
    renameSync(output, join(cache, name))
    return undefined
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** Undefined when it is built, else why not. One that is ended by a signal is an error: somebody wants to stop. */
const runGo = (args: string[], name: string, env: NodeJS.ProcessEnv, progress: Progress): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const startedMs = Date.now()
    const seconds = (): number => Math.round((Date.now() - startedMs) / 1000)
    progress(`building ${name} from the Go module proxy (once; all of Kubernetes takes about 6 minutes)`)
    const child = spawn('go', args, {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      env: { ...env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: buildTimeoutMs,
    })
    const timer = setInterval(() => progress(`still building ${name} (${seconds()} s)`), progressEveryMs)
    let errors = ''
    child.stderr.on('data', (data: Buffer) => {
      errors = (errors + data.toString()).slice(-4_000)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearInterval(timer)
      if (code === 0) progress(`built ${name} in ${seconds()} s`)
      if (signal !== null)
        reject(new Error(`The build of ${name} was ended by ${signal}; the next start goes on with it.`))
      else resolve(code === 0 ? undefined : `it could not build ${name} (exit code ${code}):\n${errors.trimEnd()}`)
    })
  })
