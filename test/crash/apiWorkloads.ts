import type { ApiScene } from './apiScene.ts'
import type { Workload } from './performer.ts'

const active = async (scene: ApiScene): Promise<void> => {
  await scene.create()
  await scene.start()
}

const withBots = async (scene: ApiScene, count = 2): Promise<void> => {
  await active(scene)
  await scene.createBots(count)
  await scene.botsAre('Running', count)
}

const inTurn =
  (...acts: readonly ((scene: ApiScene) => Promise<unknown>)[]) =>
  async (scene: ApiScene): Promise<void> => {
    for (const act of acts) await act(scene)
  }

/** What clients of the REST API do, and what kubectl does beside it. */
export const apiWorkloads: readonly Workload<ApiScene>[] = [
  { name: 'REST: create', everyWrite: true, run: (scene) => scene.create() },
  { name: 'REST: start', run: active },
  {
    name: 'REST: edit while Inactive',
    run: inTurn(
      (scene) => scene.create(),
      (scene) => scene.rename('Foyer'),
    ),
  },
  { name: 'REST: edit while Active', run: inTurn(active, (scene) => scene.rename('Foyer')) },
  { name: 'REST: stop', run: inTurn(active, (scene) => scene.stop()) },
  {
    name: 'REST: stop, then start',
    run: inTurn(
      active,
      (scene) => scene.stop(),
      (scene) => scene.start(),
    ),
  },
  { name: 'REST: restart', run: inTurn(active, (scene) => scene.start()) },
  { name: 'REST: delete', run: inTurn(active, (scene) => scene.delete()) },
  {
    name: 'REST: delete while Inactive',
    run: inTurn(
      (scene) => scene.create(),
      (scene) => scene.delete(),
    ),
  },
  { name: 'REST: delete the project', run: inTurn(active, (scene) => scene.deleteProject()) },
  { name: 'REST: bots', run: withBots },
  {
    name: 'REST: bots are scaled',
    run: inTurn(
      withBots,
      (scene) => scene.scaleBots(3),
      (scene) => scene.botsAre('Running', 3),
      (scene) => scene.scaleBots(1),
      (scene) => scene.botsAre('Running', 1),
    ),
  },
  { name: 'REST: bots are deleted', run: inTurn(withBots, (scene) => scene.deleteBots()) },
  { name: 'REST: delete a world with bots', run: inTurn(withBots, (scene) => scene.delete()) },
  {
    name: 'kubectl: stop, then start',
    run: inTurn(
      active,
      (scene) => scene.editByHand({ state: 'Stopped' }),
      (scene) => scene.phase('Stopped'),
      (scene) => scene.settled(),
      (scene) => scene.editByHand({ state: 'Running' }),
      (scene) => scene.phase('Active'),
    ),
  },
  { name: 'kubectl: delete', run: inTurn(active, (scene) => scene.deleteByHand()) },
  {
    name: 'kubectl: a World vanishes',
    run: inTurn(
      (scene) => scene.create(),
      (scene) => scene.vanish(),
    ),
  },
]
