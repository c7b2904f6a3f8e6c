import type { Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'

/** The API group and version of every resource of the product. */
export const apiGroup = 'orrery.dev'
export const apiVersion = 'v1alpha1'
/** What `apiVersion` reads in a resource of the product. */
export const groupVersion = `${apiGroup}/${apiVersion}`

/** How the World resource is reached. */
export const worldResource: Resource = { group: apiGroup, version: apiVersion, plural: 'worlds', kind: 'World' }
/** How the BotDeployment resource is reached. */
export const botDeploymentResource: Resource = {
  group: apiGroup,
  version: apiVersion,
  plural: 'botdeployments',
  kind: 'BotDeployment',
}

/** Who wrote a field: the API writes specs and the Synced condition, the operator all other status. */
export const fieldManagers = { api: 'orrery-api', operator: 'orrery-operator' } as const

/** The API's finalizer: a deleted resource stays until the end of its row is recorded. */
export const apiFinalizer = `${apiGroup}/api`

/** `"true"` on a resource: nobody touches it or what belongs to it until the annotation is gone. */
export const pausedAnnotation = `${apiGroup}/paused`

/** The labels of what the product makes; beside them stand the recommended `app.kubernetes.io/*`. */
export const labels = {
  organization: `${apiGroup}/organization`,
  project: `${apiGroup}/project`,
  world: `${apiGroup}/world`,
  run: `${apiGroup}/run`,
  botDeployment: `${apiGroup}/bot-deployment`,
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  instance: 'app.kubernetes.io/instance',
} as const

/** The namespace of an organization; a valid name because an organization's id is one. */
export const namespaceOf = (prefix: string, organizationId: string): string => `${prefix}-${organizationId}`

/** Whether somebody asked that nobody touches the resource: its annotation `orrery.dev/paused` is "true". */
export const isPaused = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.annotations?.[`${apiGroup}/paused`] === 'true'
