import { aCluster } from '#test/support/cluster.ts'
import { aTenant } from '#test/support/tenant.ts'

const maps = ['island', 'harbour', 'desert', 'castle']
const profiles = ['Capacity10', 'Capacity100', 'Capacity250']
const teams = ['events', 'arena', 'social']
const names = ['Plaza', 'Harbour', 'Arena', 'Castle'].flatMap((name) =>
  [1, 2, 3, 4, 5, 6, 7].map((n) => `${name} ${n}`),
)

/** Creates a tenant whose worlds are in every phase: most run, some start, some fail, and some never ran. Returns a key that may change them. */
export const createWorlds = async (apiUrl: string): Promise<{ apiKey: string; organizationId: string }> => {
  const tenant = await aTenant(apiUrl)
  const cluster = aCluster()
  const podOf = (id: string) => cluster.pod(`orrery-${tenant.scope.organizationId}`, id)
  for (const [index, name] of names.entries()) {
    const id = await tenant.world({
      name,
      runtime: { mapName: maps[index % maps.length] },
      networking: { scaling: { profile: profiles[index % profiles.length] } },
      metadata: { labels: { team: teams[index % teams.length] } },
    })
    if (index % 7 === 6) continue
    await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    await podOf(id).exists()
    if (index % 7 < 4) await podOf(id).becomesReady({ ip: `10.0.1.${index + 1}` })
    if (index % 7 === 4) await podOf(id).runsOutOfMemory()
  }
  await cluster.close()
  return {
    apiKey: await tenant.key([`${tenant.paths.organization}/**:w`]),
    organizationId: tenant.scope.organizationId,
  }
}
