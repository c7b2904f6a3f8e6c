import { obtainBinaries } from '#dev/kubernetes/binaries.ts'
import { findProgram } from '#dev/programs.ts'
import type { ClusterOptions } from './types.ts'

/**
 * Returns the path of the kubectl for users of the stack: that of the PATH, else one from any source of programs. The stack
 * itself does not need it, so without one the bare name is returned and the reason is printed.
 */
export const findKubectl = async ({ env, progress }: ClusterOptions): Promise<string> => {
  const own = findProgram(env, 'kubectl')
  if (own !== undefined) return own
  const { found, tried } = await obtainBinaries(['kubectl'], { env, progress })
  if (found.kubectl === undefined) {
    progress(`there is no kubectl (${tried.join('; ')}); the stack does without, but the demo needs one`)
  }
  return found.kubectl ?? 'kubectl'
}
