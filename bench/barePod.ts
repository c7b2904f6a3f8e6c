import { readOperatorConfig } from '#operator/config.ts'
import { buildPod } from '#operator/world/pod.ts'
import { captureRun } from '#operator/world/run.ts'
import type { Resource } from '#shared/kube/client.ts'
import { groupVersion, worldResource } from '#shared/resources/group.ts'
import { worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** The Pod resource. */
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
  apiVersion: groupVersion,
  kind: worldResource.kind,
  metadata: { name: 'wld-00000000000000000000000000', namespace: 'bench', uid: 'none' },
  spec: worldSpecSchema.parse({}),
}
const run = captureRun({ world, policy: {}, settings, nowMs: 0 }, 'run-00000000000000000000000000')
const { spec } = buildPod(world, run, settings)

/**
 * Returns the server pod of a world, but without a World. No operator acts on it, so it shows what the pods alone cost.
 */
export const barePod = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name },
  spec,
})
