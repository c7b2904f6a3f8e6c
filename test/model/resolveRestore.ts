import { orAbsent } from '#test/crash/until.ts'
import { change, type Model, type System } from './model.ts'

/** Runs `orrery sync`, and returns its output. */
type Sync = (...args: string[]) => Promise<string>

/**
 * Resolves what a restore leaves to an administrator, as docs/recovery.md says. Returns the output of the last adoption, which
 * names what could not be adopted yet.
 */
export const resolveRestore = async (
  sync: Sync,
  { simulator, elsewhere }: Pick<System, 'simulator' | 'elsewhere'>,
  model: Model,
  differences: readonly string[],
): Promise<string> => {
  for (const args of [['accept'], ['release', '--all']]) await sync(...args)
  const output = await sync('adopt', '--all')
  for (const { namespace, name } of resourcesIn(output, /^\S+ is not adopted: (\S+)\/(\S+) has the id /gm)) {
    // The API made nothing outside of the organization.
    if (namespace === elsewhere) await change(() => simulator.worlds.delete({ namespace, name }))
  }
  const removed = resourcesIn(output, /^(\S+)\/(\S+) is not adopted: It was deleted over REST/gm)
  for (const bots of resourcesIn(output, /^(\S+)\/(\S+) is not adopted: The World /gm)) {
    if (await haveLostTheirWorld(simulator, model, bots)) removed.push(bots)
  }
  if (removed.length > 0) await sync('remove', ...removed.map(({ namespace, name }) => `${namespace}/${name}`))
  for (const bots of resourcesIn(differences.join('\n'), /^BotDeployment (\S+)\/(\S+): It has no row\./gm)) {
    if (await haveLostTheirWorld(simulator, model, bots)) await change(() => simulator.botDeployments.delete(bots))
  }
  return output
}

type Ref = { readonly namespace: string; readonly name: string }

const resourcesIn = (text: string, pattern: RegExp): Ref[] =>
  [...text.matchAll(pattern)].map(([, namespace = '', name = '']) => ({ namespace, name }))

/** Reports whether bots wait for a world that the restores took away: it neither exists nor must exist. */
const haveLostTheirWorld = async (
  { worlds, botDeployments }: System['simulator'],
  model: Model,
  { namespace, name }: Ref,
): Promise<boolean> => {
  const bots = await orAbsent(botDeployments.get({ namespace, name }))
  if (bots === undefined) return false
  const { worldName } = bots.spec
  const isExpected = [...model.worlds.values()].some(
    ({ expected, resourceName }) => resourceName === worldName && expected === 'exists',
  )
  return !isExpected && (await orAbsent(worlds.get({ namespace, name: worldName }))) === undefined
}
