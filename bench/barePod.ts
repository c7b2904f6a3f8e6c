import { readOperatorConfig } from '#operator/config.ts'
import { buildPod } from '#operator/world/pod.ts'
import { freezeRun } from '#operator/world/run.ts'
import type { Resource } from '#shared/kube/client.ts'
import { groupVersion, worldResource } from '#shared/resources/group.ts'
import { worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** Pods, as clients name them. */
export const podResource: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }

const settings = {
  ...readOperatorConfig({
    ORRERY_DEFAULT_SERVER_IMAGE: 'registry.example/server:1',
    ORRERY_PUBLIC_URL: 'http://api.example:8080',
    ORRERY_MEMORY_REQUEST_RATIO: '0.02',
    ORRERY_CPU_REQUEST_RATIO: '0.02',
  }).world,
  profiles: scalingProfiles,
}
const world = {
  ...{ apiVersion: groupVersion, kind: worldResource.kind },
  metadata: { name: 'wld-00000000000000000000000000', namespace: 'bench', uid: 'none' },
  spec: worldSpecSchema.parse({}),
}
const { spec } = buildPod(world, freezeRun(world, 'run-00000000000000000000000000', settings, 0), settings)

/** The server pod of a world without its world: what the same pods cost by themselves. No operator knows it. */
export const barePod = (namespace: string, name: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { namespace, name },
  spec,
})
