import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { missingForContainerd } from '#dev/node/index.ts'

/** Builds what a stack runs before the first one starts, where a reader of the run sees how far it is. */
export default async (): Promise<void> => {
  const nodes = missingForContainerd(process.env).length === 0 ? (['kubelet', 'kwok'] as const) : (['kwok'] as const)
  const names = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler', ...nodes] as const
  const progress = (line: string): void => void process.stderr.write(`[setup] ${line}\n`)
  await resolveBinaries(names, { env: process.env, progress })
}
