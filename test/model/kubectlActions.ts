import { idOfUid } from '#shared/ids.ts'
import { groupVersion, labels } from '#shared/resources/group.ts'
import { botEdits, worldEdits } from './edits.ts'
import {
  type Action,
  afterDeletionByHand,
  change,
  type Expectation,
  type Model,
  onBots,
  onWorld,
  pick,
  type Step,
} from './model.ts'

/** Returns a new name, and the labels of an object made with kubectl: with the project of the sequence, or without. */
const byHand = ({ system: { namespace, rest }, random }: Step) => {
  const name = `hand-made-${Math.floor(random() * 1e6)}`
  const isInProject = random() < 0.5
  return { namespace, name, labels: isInProject ? { [labels.project]: rest.scope.projectId ?? '' } : {} }
}

const newExpectation = ({ isUndecided }: Model): Expectation => (isUndecided ? 'either' : 'exists')

/** Creations, edits and deletions with kubectl. */
export const kubectlActions: readonly Action[] = [
  {
    name: 'create with kubectl',
    weight: 4,
    act: async (step) => {
      const { system, model, random } = step
      const metadata = byHand(step)
      await change(async () => {
        const spec = { displayName: metadata.name, state: random() < 0.5 ? 'Running' : 'Stopped' }
        const made = await system.simulator.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec })
        const id = idOfUid('world', made.metadata.uid ?? '')
        model.worlds.set(id, { expected: newExpectation(model), resourceName: metadata.name })
      })
    },
  },
  {
    name: 'edit with kubectl',
    weight: 12,
    act: onWorld(async ({ system: { namespace, simulator }, random }, _, world) => {
      const spec = pick(worldEdits, random)?.(random) ?? {}
      // A transient world is deleted with the end of its run.
      if ('transient' in spec && spec.transient === true) world.expected = 'either'
      await change(() => simulator.worlds.patch({ namespace, name: world.resourceName }, { spec }))
    }),
  },
  {
    name: 'remove the finalizer with kubectl',
    weight: 1,
    act: onWorld(async ({ system: { namespace, simulator } }, _, world) => {
      world.hasLostFinalizer = true
      const patch = { metadata: { finalizers: null } }
      await change(() => simulator.worlds.patch({ namespace, name: world.resourceName }, patch))
    }),
  },
  {
    name: 'change the labels with kubectl',
    weight: 1,
    act: onWorld(async ({ system: { namespace, simulator }, random }, _, { resourceName: name }) => {
      const label = pick([labels.organization, labels.project, labels.worldId], random) ?? labels.project
      const value = random() < 0.5 ? null : 'prj-01m7y9g1a7emva3288dhww2jgd'
      await change(() => simulator.worlds.patch({ namespace, name }, { metadata: { labels: { [label]: value } } }))
    }),
  },
  {
    name: 'delete with kubectl',
    weight: 2,
    act: onWorld(async ({ system: { namespace, simulator }, model }, _, world) => {
      const isDone = await change(() => simulator.worlds.delete({ namespace, name: world.resourceName }))
      const expected = afterDeletionByHand(model, world.expected, isDone)
      world.expected = expected === 'gone' && world.hasLostFinalizer ? 'either' : expected
    }),
  },
  {
    name: 'create bots with kubectl',
    weight: 2,
    act: onWorld(async (step, worldId, { resourceName: worldName }) => {
      const { system, model } = step
      const metadata = byHand(step)
      await change(async () => {
        const spec = { worldName, count: 2 }
        const input = { apiVersion: groupVersion, kind: 'BotDeployment', metadata, spec }
        const made = await system.simulator.botDeployments.create(input)
        const id = idOfUid('bot', made.metadata.uid ?? '')
        model.bots.set(id, { expected: newExpectation(model), resourceName: metadata.name, worldId })
      })
    }),
  },
  {
    name: 'edit bots with kubectl',
    weight: 4,
    act: onBots(async ({ system: { simulator, namespace }, random }, _, { resourceName: name }) => {
      const spec = pick(botEdits, random)?.(random) ?? {}
      await change(() => simulator.botDeployments.patch({ namespace, name }, { spec }))
    }),
  },
  {
    name: 'delete bots with kubectl',
    weight: 1,
    act: onBots(async ({ system: { simulator, namespace }, model }, _, bots) => {
      const isDone = await change(() => simulator.botDeployments.delete({ namespace, name: bots.resourceName }))
      bots.expected = afterDeletionByHand(model, bots.expected, isDone)
    }),
  },
  {
    name: 'copy into another namespace',
    weight: 2,
    act: onWorld(async ({ system: { simulator, namespace, elsewhere } }, _, { resourceName: name }) => {
      await change(async () => {
        const { spec } = await simulator.worlds.get({ namespace, name })
        const copy = { apiVersion: groupVersion, kind: 'World', metadata: { namespace: elsewhere, name } }
        await simulator.worlds.create({ ...copy, spec: { ...spec, state: 'Stopped' } })
      })
    }),
  },
  {
    name: 'lose a pod',
    weight: 2,
    act: onWorld(async ({ system: { simulator, namespace } }, _, { resourceName: name }) => {
      await change(() => simulator.pods.delete({ namespace, name }, { gracePeriodSeconds: 0 }))
    }),
  },
]
