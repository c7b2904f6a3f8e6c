import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs kubectl as an administrator and returns what it printed. */
export const kubectlOf =
  (kubectl: string, kubeconfig: string) =>
  async (args: readonly string[], timeoutMs = 20_000): Promise<string> =>
    (await run(kubectl, ['--kubeconfig', kubeconfig, ...args], { timeout: timeoutMs })).stdout

/** Reports whether the node is Ready. */
export const isNodeReady = async (kubectl: ReturnType<typeof kubectlOf>, name: string): Promise<boolean> => {
  const path = '{.status.conditions[?(@.type=="Ready")].status}'
  return (await kubectl(['get', 'node', name, '-o', `jsonpath=${path}`])) === 'True'
}
