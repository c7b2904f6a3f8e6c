import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { withKinds } from '#dev/kinds.ts'
import { until } from '#dev/until.ts'
import { defaultHostPorts, parseHostPorts } from '#shared/domain/hostPorts.ts'
import type { ObjectInput, Resource } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Condition, KubeObject } from '#shared/kube/objects.ts'
import { toCelIntervals } from '#shared/resources/hostPortPolicy.ts'
import { asAdministrator } from './administrator.ts'

const establishedTimeoutMs = 120_000
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}
const admission = { group: 'admissionregistration.k8s.io', version: 'v1' }
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const resources: readonly Resource[] = [
  definitions,
  { ...rbac, plural: 'clusterroles', kind: 'ClusterRole' },
  { ...rbac, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
  { ...rbac, plural: 'roles', kind: 'Role' },
  { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' },
  { ...admission, plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy' },
  { ...admission, plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' },
]
type Definition = KubeObject & { status?: { conditions?: Condition[] } }

/** The values of the placeholders in `dev/rbac` and `dev/admission`. */
export type ManifestParameters = {
  readonly apiUser: string
  readonly operatorUser: string
  /** A prefix, or a regular expression of several. */
  readonly namespacePrefix: string
  /** Groups that may restore resources with their revision and status, such as that of a backup tool. */
  readonly restoreGroups: readonly string[]
  /** The host ports of the platform, as in `ORRERY_HOST_PORTS`. */
  readonly hostPorts: string
}

const defaultParameters: ManifestParameters = {
  apiUser: 'orrery-api',
  operatorUser: 'orrery-operator',
  namespacePrefix: 'orrery',
  restoreGroups: ['system:masters'],
  hostPorts: defaultHostPorts,
}

export type InstallOptions = {
  readonly kubeconfig: string
  /** False if API and operator are one user, whom the admission policies would refuse. */
  readonly hasAdmissionPolicies?: boolean
  readonly parameters?: Partial<ManifestParameters>
}

/**
 * Applies the product's CRDs, roles and admission policies to a cluster, and waits until the CRDs are served. It does
 * not need kubectl.
 */
export const installManifests = ({
  kubeconfig,
  hasAdmissionPolicies = true,
  parameters = {},
}: InstallOptions): Promise<void> =>
  asAdministrator(kubeconfig, async (client) => {
    const values = { ...defaultParameters, ...parameters }
    const folders = ['../../crds', '../rbac', ...(hasAdmissionPolicies ? ['../admission'] : [])]
    const objects = folders.flatMap((folder) => readObjects(folder, values))
    for (const object of objects) {
      const apply = () => client(resourceOf(object)).apply(object, { fieldManager: 'orrery-start', force: true })
      // A new control plane creates the namespace `default` a moment after its start. Any other failure is thrown at
      // once.
      const applied = () =>
        apply().then(
          () => ({ failure: undefined }),
          (failure: unknown) => (isNotFound(failure) ? undefined : { failure }),
        )
      const { failure } = await until(
        `a place for ${object.kind} ${object.metadata.name}`,
        applied,
        establishedTimeoutMs,
      )
      if (failure !== undefined) throw failure
    }
    const served = client<Definition>(definitions)
    for (const { metadata } of objects.filter(({ kind }) => kind === definitions.kind)) {
      const isServed = async () => (isEstablished(await served.get(metadata)) ? true : undefined)
      await until(`the definition ${metadata.name} to be served`, isServed, establishedTimeoutMs)
    }
  })

const readObjects = (relative: string, parameters: ManifestParameters): ObjectInput[] => {
  const folder = new URL(`${relative}/`, import.meta.url)
  return readdirSync(fileURLToPath(folder))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => parseAllDocuments(fillIn(readFileSync(new URL(name, folder), 'utf8'), parameters)))
    .map((document) => document.toJS() as ObjectInput)
}

const fillIn = (text: string, { restoreGroups, hostPorts, ...names }: ManifestParameters): string => {
  const { value, errors } = parseHostPorts(hostPorts)
  if (errors !== undefined) throw new Error(`ORRERY_HOST_PORTS: ${errors.join('; ')}`)
  const lists = {
    restoreGroups: `[${restoreGroups.map((group) => `'${group}'`).join(', ')}]`,
    hostPorts: toCelIntervals(value),
  }
  return Object.entries({ ...names, ...lists }).reduce(
    (filled, [name, value]) => filled.replaceAll(['$', '{', name, '}'].join(''), value),
    withKinds(text),
  )
}

const resourceOf = ({ kind }: ObjectInput): Resource => {
  const resource = resources.find((each) => each.kind === kind)
  if (resource === undefined) throw new Error(`A manifest has the kind ${kind}, which is not installed here.`)
  return resource
}

const isEstablished = ({ status }: Definition): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === 'Established' && condition.status === 'True')
