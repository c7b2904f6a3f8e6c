import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { findKubectl } from './kubectl.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/** Uses an existing cluster. Both processes act as the user of its kubeconfig, and its nodes must have the image. */
export const useExternalCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const { env, progress } = options
  const serverImage = env.ORRERY_DEFAULT_SERVER_IMAGE
  const botImage = env.ORRERY_DEFAULT_BOT_IMAGE ?? ''
  if (botImage === '') progress('ORRERY_DEFAULT_BOT_IMAGE is not set: no bots are created in that cluster')
  const files = (env.KUBECONFIG ?? '').split(delimiter).filter((file) => file !== '')
  const [only, ...more] = files.filter((file) => existsSync(file))
  if (only === undefined)
    throw new Error(`KUBECONFIG names ${env.KUBECONFIG}, which does not exist. Correct or unset it.`)
  if (!serverImage || !env.ORRERY_PUBLIC_URL) {
    throw new Error(
      'With KUBECONFIG, also set ORRERY_DEFAULT_SERVER_IMAGE to an image that the cluster can pull, and ' +
        'ORRERY_PUBLIC_URL to a URL by which its pods reach this machine. Unset KUBECONFIG to run a cluster here.',
    )
  }
  progress(
    `node: those of the cluster that KUBECONFIG names${options.node === 'auto' ? '' : '; --node has no effect there'}`,
  )
  const kubectl = await findKubectl(options)
  const kubeconfig = more.length === 0 ? resolve(only) : joined(kubectl, options)
  const own = { apiKubeconfig: kubeconfig, operatorKubeconfig: kubeconfig }
  return { kubeconfig, kubectl, ...own, serverImage, botImage, hostAddress: '127.0.0.1', node: 'external', ends: [] }
}

/** Merges several kubeconfigs into one file, since `--kubeconfig` takes one. The file holds their credentials. */
const joined = (kubectl: string, { stateDir, env }: ClusterOptions): string => {
  const file = join(stateDir, 'external.kubeconfig')
  try {
    const text = execFileSync(kubectl, ['config', 'view', '--flatten', '--minify'], { env, encoding: 'utf8' })
    writeFileSync(file, text, { mode: 0o600 })
    return file
  } catch (cause) {
    const message = `KUBECONFIG names several files, which kubectl could not join: name one file, or install kubectl.`
    throw new Error(message, { cause })
  }
}
