import { delimiter } from 'node:path'
import { findIn, obtainBinaries } from '#dev/kubernetes/binaries.ts'
import type { ClusterOptions } from './types.ts'

/**
 * A kubectl for the people who look at the cluster: that of the PATH, else of any source of programs. The stack itself
 * needs none, so where there is none its bare name is given and said.
 */
export const findKubectl = async ({ env, progress }: ClusterOptions): Promise<string> => {
  const own = findIn(
    (env.PATH ?? '').split(delimiter).filter((dir) => dir !== ''),
    'kubectl',
  )
  if (own !== undefined) return own
  const { found } = await obtainBinaries(['kubectl'], { env, progress })
  if (found.kubectl === undefined) progress('there is no kubectl; the stack does without, but the demo needs one')
  return found.kubectl ?? 'kubectl'
}
