import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Applies the product's own definitions and roles to a cluster, and waits until the definitions are served. */
export const installManifests = async (options: { kubectl: string; kubeconfig: string }): Promise<void> => {
  const kubectl = (...args: string[]) =>
    run(options.kubectl, ['--kubeconfig', options.kubeconfig, ...args], { timeout: 60_000 })
  await kubectl('apply', '--server-side', '--force-conflicts', '-f', path('../../crds'), '-f', path('../rbac'))
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', '-f', path('../../crds'))
}
