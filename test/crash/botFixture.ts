import type { Pod } from '#operator/pods/pod.ts'
import type { BotDeployment, BotDeploymentSpec } from '#shared/resources/botDeployment.ts'
import { apiFinalizer, fieldManagers, groupVersion, labels } from '#shared/resources/group.ts'
import { botSelectorOf } from '#shared/resources/selectors.ts'
import type { Simulator } from './simulator.ts'
import { orAbsent, until } from './until.ts'

/** The name of the one bot deployment of each fixture. */
export const botsName = 'bot-00000000000000000000000001'

/** Creates the actions and waits of users for the bots of a fixture's world. */
export const createBotFixture = (
  simulator: Simulator,
  { namespace, project, worldName }: { namespace: string; project: string; worldName: string },
) => {
  const ref = { namespace, name: botsName }
  let spec: Partial<BotDeploymentSpec> = { worldName, count: 2, revision: 0 }
  const deployment = (): Promise<BotDeployment | undefined> => orAbsent(simulator.botDeployments.get(ref))
  const pods = async (): Promise<Pod[]> =>
    (await simulator.pods.list({ namespace, labelSelector: botSelectorOf(botsName) })).items
  return {
    deployment,
    /** Applies the spec with these changes, as the API does. */
    edit: async (changes: Partial<BotDeploymentSpec> = {}): Promise<void> => {
      spec = { ...spec, ...changes, revision: (spec.revision ?? 0) + 1 }
      await simulator.botDeployments.apply(
        {
          apiVersion: groupVersion,
          kind: 'BotDeployment',
          metadata: { ...ref, labels: { [labels.project]: project }, finalizers: [apiFinalizer] },
          spec,
        },
        { fieldManager: fieldManagers.api, force: true },
      )
    },
    /** Waits for that phase and that number of bots. */
    are: (phase: string, count: number) =>
      until(`${count} bots, ${phase}`, async () => {
        const seen = await deployment()
        const isReported = seen?.status?.phase === phase && seen.status.observedGeneration === seen.metadata.generation
        return isReported && (await pods()).length === count && seen
      }),
    ofRun: (runId: string) =>
      until(`bots of ${runId}`, async () => {
        const seen = await pods()
        return seen.length > 0 && seen.every(({ metadata }) => metadata.labels?.[labels.run] === runId)
      }),
    delete: () => simulator.botDeployments.delete(ref),
    gone: () => until('the bots are gone', async () => (await deployment()) === undefined),
  }
}
