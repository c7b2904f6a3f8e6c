import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kubectlOf } from '#dev/node/ready.ts'

/** A service account. */
export type Account = { readonly namespace: string; readonly name: string }

/** The account of the operator. */
export const operatorAccount: Account = { namespace: 'orrery-system', name: 'orrery-operator' }

/** Returns the name of the user that requests with a token of the account are made as. */
export const userOf = ({ namespace, name }: Account): string => `system:serviceaccount:${namespace}:${name}`

type Cluster = { readonly kubectl: string; readonly kubeconfig: string; readonly dir: string }

/** Creates a service account and its namespace. */
export const createAccount = async ({ kubectl, kubeconfig }: Cluster, account: Account): Promise<void> => {
  const run = kubectlOf(kubectl, kubeconfig)
  await run(['create', 'namespace', account.namespace])
  await run(['create', 'serviceaccount', account.name, '-n', account.namespace])
}

/**
 * Returns the path of a kubeconfig with a token of the account, which programs have in a cluster too. For a client certificate, the
 * API server would check a signature with each request.
 */
export const accountKubeconfig = async ({ kubectl, kubeconfig, dir }: Cluster, account: Account): Promise<string> => {
  const create = ['create', 'token', account.name, '-n', account.namespace, '--duration=4h']
  const token = await kubectlOf(kubectl, kubeconfig)(create)
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8'))
  const [user] = config.users
  const file = join(dir, `${account.name}.kubeconfig`)
  const own = { ...config, users: [{ name: user.name, user: { token: token.trim() } }] }
  writeFileSync(file, JSON.stringify(own), { mode: 0o600 })
  return file
}
