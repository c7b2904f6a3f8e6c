import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { missingForContainerd } from '#dev/node/index.ts'
import { findServicePrograms } from '#dev/node/services.ts'

/** Builds the programs of a stack before the first one starts, with visible progress. */
export default async (): Promise<void> => {
  const nodes = missingForContainerd(process.env).length === 0 ? (['kubelet', 'kwok'] as const) : (['kwok'] as const)
  const names = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager', 'kube-scheduler', ...nodes] as const
  const progress = (line: string): void => void process.stderr.write(`[setup] ${line}\n`)
  await resolveBinaries(names, { env: process.env, progress })
  if (nodes.length > 1) await findServicePrograms({ env: process.env, progress })
}
