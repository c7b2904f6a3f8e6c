import { botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import { type Action, ask, type Model, pick, type Step } from './model.ts'

const definitions = [[worldResource], [botDeploymentResource], [worldResource, botDeploymentResource]]

/**
 * Runs the deletion of a container. The rows that REST shows at its beginning must survive it. Two kinds of resource may end
 * either way: one that kubectl created and that has no row yet, and one whose deletion with kubectl is not recorded yet.
 */
const whileGoing =
  (act: (step: Step) => Promise<void>): Action['act'] =>
  async (step) => {
    const { model, system } = step
    model.isUndecided = true
    try {
      const listed = await ask<{ documentId: string }[]>(system.organization, 'GET', '/api/worlds/')
      forgetUndecided(model, listed?.status === 200 ? listed.body.map(({ documentId }) => documentId) : undefined)
      await act(step)
    } finally {
      model.isUndecided = false
    }
  }

/** Expects either end of what the API may not have recorded. `shown` are the ids of the worlds that REST shows, if known. */
const forgetUndecided = ({ worlds, bots }: Model, shown: readonly string[] | undefined): void => {
  for (const [id, world] of worlds) {
    const isHandMade = world.resourceName !== id
    if (world.expected === 'exists' && isHandMade && shown?.includes(id) !== true) world.expected = 'either'
    if (world.expected === 'gone' && shown?.includes(id) !== false) world.expected = 'either'
  }
  for (const [id, each] of bots) {
    if (each.expected === 'gone' || each.resourceName !== id) each.expected = 'either'
  }
}

/** Deletions of what contains the resources. They do not delete the rows, so the API recreates the resources. */
export const containerActions: readonly Action[] = [
  {
    name: 'delete the namespace',
    weight: 1,
    isFault: true,
    act: whileGoing(({ system: { containers, namespace } }) => containers.deleteNamespace(namespace)),
  },
  {
    name: 'replace the definitions',
    weight: 1,
    isFault: true,
    act: whileGoing(({ system: { containers }, random }) =>
      containers.replaceDefinitions(pick(definitions, random) ?? []),
    ),
  },
]
