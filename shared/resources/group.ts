import type { Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'

/** The API group and version of every resource of the product. */
export const apiGroup = 'orrery.dev'
export const apiVersion = 'v1alpha1'
/** The `apiVersion` of every resource of the product. */
export const groupVersion = `${apiGroup}/${apiVersion}`

const own = { group: apiGroup, version: apiVersion }

/** The kinds of resource that have rows, by the kind of their ids, with the prefix of the ids. */
export const kinds = {
  world: { ...own, plural: 'worlds', kind: 'World', idPrefix: 'wld' },
  bot: { ...own, plural: 'botdeployments', kind: 'BotDeployment', idPrefix: 'bot' },
} as const satisfies Record<string, Resource & { readonly idPrefix: string }>

/** A kind of row that has a resource in the cluster. */
export type Kind = keyof typeof kinds
/** The kinds as a list. */
export const kindList = Object.keys(kinds) as [Kind, ...Kind[]]
/** Returns an object with a member for each kind. */
export const mapKinds = <Out>(make: (kind: Kind) => Out): Record<Kind, Out> =>
  Object.fromEntries(kindList.map((kind) => [kind, make(kind)])) as Record<Kind, Out>

/** Returns the name of the ids of a kind: `botDeploymentId`. */
export const idNameOf = (kind: Kind): string => `${kinds[kind].kind.replace(/^./, (first) => first.toLowerCase())}Id`
/** Returns the label with the id of a resource, whose name may be another: `orrery.dev/bot-deployment-id`. */
export const idLabelOf = (kind: Kind): string =>
  `${apiGroup}/${idNameOf(kind).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** The World and the BotDeployment resource. */
export const { world: worldResource, bot: botDeploymentResource } = kinds

/** Returns the name of the CustomResourceDefinition of a kind. */
export const definitionName = (kind: Kind): string => `${kinds[kind].plural}.${apiGroup}`

/** The resource that holds the definitions of custom resources. */
export const definitionResource: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}

/** The routes of Gateway API. Their definition is not part of Kubernetes, so a cluster may lack it. */
export const httpRouteResource: Resource = {
  group: 'gateway.networking.k8s.io',
  version: 'v1',
  plural: 'httproutes',
  kind: 'HTTPRoute',
}

/** The field managers of server-side apply: the API writes specs, the operator writes status. */
export const fieldManagers = { api: 'orrery-api', operator: 'orrery-operator' } as const

/** The API's finalizer. A deleted resource stays until the API has recorded its end in the database. */
export const apiFinalizer = `${apiGroup}/api`

/** The annotation of a CustomResourceDefinition with the version of the product that it belongs to. */
export const versionAnnotation = `${apiGroup}/version`

/** The annotation of a Node with the address at which players reach its servers, such as that of a NAT in front of it. */
export const nodeAddressAnnotation = `${apiGroup}/address`

/** The annotation that pauses a resource while its value is "true": neither the resource nor its pods are changed. */
export const pausedAnnotation = `${apiGroup}/paused`

/**
 * The annotation with the trace of the request that made the present revision: a `traceparent` of W3C Trace Context, or ''.
 * Only the API writes it, together with a spec.
 */
export const traceparentAnnotation = `${apiGroup}/traceparent`

/** The labels of objects that the product creates, including the recommended `app.kubernetes.io/*` ones. */
export const labels = {
  organization: `${apiGroup}/organization`,
  project: `${apiGroup}/project`,
  /** The name of the World. Its id is in `worldId`. */
  world: `${apiGroup}/world`,
  worldId: idLabelOf('world'),
  run: `${apiGroup}/run`,
  /** The name of the BotDeployment. Its id is in `botDeploymentId`. */
  botDeployment: `${apiGroup}/bot-deployment`,
  botDeploymentId: idLabelOf('bot'),
  managedBy: 'app.kubernetes.io/managed-by',
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  instance: 'app.kubernetes.io/instance',
  /** "true" on a namespace whose pods the admission policy `orrery-host-ports` checks. Its pods may have host ports. */
  hostPorts: `${apiGroup}/host-ports`,
} as const

/** Returns the name of an organization's namespace. It is valid, since an organization's id is a DNS label. */
export const namespaceOf = (prefix: string, organizationId: string): string => `${prefix}-${organizationId}`

/** Reports whether the resource is paused by its annotation `orrery.dev/paused`. */
export const isPaused = ({ metadata }: Pick<KubeObject, 'metadata'>): boolean =>
  metadata.annotations?.[pausedAnnotation] === 'true'
