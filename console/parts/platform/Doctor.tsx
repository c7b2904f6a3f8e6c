import type { Client } from '#client/client.ts'
import { doctorCommands } from '#console/state/platform/commands.ts'
import { toVisible } from '#console/state/visible.ts'
import { Said } from '../pieces.tsx'
import { CommandNote, Reading, Remedies } from './pieces.tsx'
import { useReading } from './useReading.ts'

/** The commands that compare the database with each cluster. They read every row and resource, so the API does not run them. */
export const Doctor = ({ client }: { readonly client: Client }) => {
  const reading = useReading((signal) => client.getSyncStatus({ query: { limit: 1 }, signal }))
  return (
    <>
      <p>
        <code>orrery doctor</code> compares the rows with Worlds, BotDeployments and their pods, the namespaces of
        organizations with their limits, and the admission policies and definitions with this version. It prints a
        sentence for each difference. It reads everything, so it runs beside the API and not in it.
      </p>
      <ul>
        <li>
          Without <code>--fix</code> it changes nothing. With it, rows and organizations that differ are pushed again,
          at most 1,000. It never deletes, stops or releases anything.
        </li>
        <li>
          The account of the API may not read pods and admission policies. To compare them too, run it where{' '}
          <code>KUBECONFIG</code> is that of an administrator. The command says what it did not compare.
        </li>
      </ul>
      <Reading reading={reading} what="The clusters">
        {({ clusters }) =>
          clusters.length === 0 ? (
            <p class="empty">The API has not been connected to a cluster yet. Its log says why.</p>
          ) : (
            clusters.map(({ name }) => (
              <section key={name}>
                <h2>
                  Cluster <Said text={name} />
                </h2>
                <Remedies remedies={doctorCommands(name)} of={`the cluster ${toVisible(name)}`} />
              </section>
            ))
          )
        }
      </Reading>
      <CommandNote />
    </>
  )
}
