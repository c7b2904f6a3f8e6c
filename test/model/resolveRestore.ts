import { change } from './model.ts'

type Resolver = {
  /** Runs `orrery sync`, and returns its output. */
  readonly sync: (...args: string[]) => Promise<string>
  /** Deletes a World with kubectl. */
  readonly deleteWorld: (ref: { namespace: string; name: string }) => Promise<unknown>
  /** Returns the names of the Worlds in a namespace. */
  readonly worldNames: (namespace: string) => Promise<readonly string[]>
  /** The namespace with the copies. */
  readonly elsewhere: string
}

/**
 * Resolves what a restore leaves to an administrator, as docs/recovery.md says. Returns the output of the last adoption, which
 * names what could not be adopted yet.
 */
export const resolveRestore = async ({ sync, deleteWorld, worldNames, elsewhere }: Resolver): Promise<string> => {
  for (const args of [['accept'], ['release', '--all']]) await sync(...args)
  const output = await sync('adopt', '--all')
  for (const [, namespace = '', name = ''] of output.matchAll(/ is not adopted: (\S+)\/(\S+) has the id /g)) {
    // The API did not make what is outside of the organization.
    if (namespace === elsewhere) await change(() => deleteWorld({ namespace, name }))
  }
  const removed = [...output.matchAll(/^(\S+) is not adopted: It was deleted over REST/gm)].map(([, name = '']) => name)
  for (const [, namespace = '', name = '', world = ''] of output.matchAll(
    /^(\S+)\/(\S+) is not adopted: The World (\S+) has not been adopted/gm,
  )) {
    if (!(await worldNames(namespace)).includes(world)) removed.push(`${namespace}/${name}`)
  }
  if (removed.length > 0) await sync('remove', ...removed)
  return output
}
