import type { Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'

/** The API group and version of every resource of the product. */
export const apiGroup = 'orrery.dev'
export const apiVersion = 'v1alpha1'
/** The `apiVersion` of every resource of the product. */
export const groupVersion = `${apiGroup}/${apiVersion}`

/** The World resource. */
export const worldResource: Resource = { group: apiGroup, version: apiVersion, plural: 'worlds', kind: 'World' }
/** The BotDeployment resource. */
export const botDeploymentResource: Resource = {
  group: apiGroup,
  version: apiVersion,
  plural: 'botdeployments',
  kind: 'BotDeployment',
}

/** The field managers of server-side apply: the API writes specs, the operator writes status. */
export const fieldManagers = { api: 'orrery-api', operator: 'orrery-operator' } as const

/** The API's finalizer. A deleted resource stays until the API has recorded its end in the database. */
export const apiFinalizer = `${apiGroup}/api`

/** The annotation that pauses a resource while its value is "true": neither the resource nor its pods are changed. */
export const pausedAnnotation = `${apiGroup}/paused`

/** The labels of objects that the product creates, including the recommended `app.kubernetes.io/*` ones. */
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

/** Returns the name of an organization's namespace. It is valid, since an organization's id is a DNS label. */
export const namespaceOf = (prefix: string, organizationId: string): string => `${prefix}-${organizationId}`

/** Reports whether the resource is paused by its annotation `orrery.dev/paused`. */
export const isPaused = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.annotations?.[pausedAnnotation] === 'true'
