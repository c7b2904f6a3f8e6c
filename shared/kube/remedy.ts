import type { Resource } from './client.ts'
import { KubeError } from './errors.ts'

/** Returns what an administrator can do about a failed list or watch, or undefined if it can end by itself. */
export const remedyOf = (error: unknown, { plural, group }: Pick<Resource, 'plural' | 'group'>): string | undefined => {
  if (!(error instanceof KubeError)) return undefined
  if (error.status === 401) {
    return 'The API server does not accept the credentials of this process. Check its ServiceAccount or KUBECONFIG.'
  }
  const name = group === '' ? plural : `${plural}.${group}`
  if (error.status === 403) return `This process may not list ${name}. Install the roles of this version.`
  if (error.status === 404) {
    return `The cluster has no ${name}. Install the CustomResourceDefinitions of this version (the folder crds).`
  }
  return undefined
}
