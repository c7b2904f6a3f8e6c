import { ApiError, createClient, type World } from '@orrery/client'
import { createRealtime } from '@orrery/client/realtime'

// A program that depends on the client package. The test runs it in an empty project outside of the checkout.

type Options = { baseUrl: string; apiKey: string; organizationId: string; projectId: string }

/** Creates a world, and returns its name in the list, its phase over realtime, and the code of an error. */
const tour = async (options: Options): Promise<string[]> => {
  const client = createClient(options)
  const { worldId } = await client.createWorld({ body: { name: 'Lobby', transient: false } })
  const world: World = await client.getWorld({ params: { worldId } })
  // @ts-expect-error A world has no member of this name: the types are more than `any`.
  const absent: string = world.worldName
  const names: string[] = []
  for await (const page of client.pages('listWorlds')) names.push(...page.map(({ name }) => name))
  const realtime = createRealtime(options)
  const phase = await new Promise<string>((resolve, reject) => {
    realtime.subscribe('world', worldId, { onUpdate: ({ data }) => resolve(data.phase), onError: reject })
  })
  realtime.close()
  const code = await client.deleteWorld({ params: { worldId: 'wld-none' } }).then(
    () => 'none',
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  )
  return [...names, phase, code, String(absent)]
}

Object.assign(globalThis, { tour })
