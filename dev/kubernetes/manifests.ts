import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { until } from '#dev/until.ts'
import type { Resource, Sent } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Condition, KubeObject } from '#shared/kube/objects.ts'
import { asAdministrator } from './administrator.ts'

const establishedTimeoutMs = 120_000
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const resources: readonly Resource[] = [
  definitions,
  { ...rbac, plural: 'clusterroles', kind: 'ClusterRole' },
  { ...rbac, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' },
  { ...rbac, plural: 'roles', kind: 'Role' },
  { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' },
]
type Definition = KubeObject & { status?: { conditions?: Condition[] } }

/**
 * Applies the product's own definitions and roles to a cluster, and waits until the definitions are served. It asks for
 * no kubectl: a machine that has a cluster needs nothing else.
 */
export const installManifests = ({ kubeconfig }: { kubeconfig: string }): Promise<void> =>
  asAdministrator(kubeconfig, async (client) => {
    const objects = [...objectsIn('../../crds'), ...objectsIn('../rbac')]
    for (const object of objects) {
      const apply = () => client(resourceOf(object)).apply(object, { fieldManager: 'orrery-start', force: true })
      // A control plane that has just started makes the namespace `default` a moment later; any other failure is told at once.
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

const objectsIn = (relative: string): Sent[] => {
  const folder = new URL(`${relative}/`, import.meta.url)
  return readdirSync(fileURLToPath(folder))
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => parseAllDocuments(readFileSync(new URL(name, folder), 'utf8')))
    .map((document) => document.toJS() as Sent)
}

const resourceOf = ({ kind }: Sent): Resource => {
  const resource = resources.find((each) => each.kind === kind)
  if (resource === undefined) throw new Error(`A manifest has the kind ${kind}, which is not installed here.`)
  return resource
}

const isEstablished = ({ status }: Definition): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === 'Established' && condition.status === 'True')
