import type { ComponentChildren } from 'preact'
import type { World, WorldDeployment } from '#client/operations.ts'
import { Said } from '../../pieces.tsx'

/** The settings that REST only shows: those of the create, those of kubectl, and what the run got from the platform. */
export const ReadOnly = ({
  world,
  deployment,
}: {
  readonly world: World
  readonly deployment: WorldDeployment | undefined
}) => (
  <section aria-labelledby="read-only-title">
    <h2 id="read-only-title">Only to read</h2>
    <dl class="facts">
      <Fact name="Transient">{world.transient ? 'Yes: deleted after its duration' : 'No'}</Fact>
      {deployment !== undefined && <Run deployment={deployment} />}
      <Fact name="Sessions, as the create set them">
        <pre class="setting-value">
          <Said text={JSON.stringify(world.sessions, null, 2)} />
        </pre>
      </Fact>
    </dl>
  </section>
)

const Run = ({ deployment: { image = '', compute, runtime } }: { readonly deployment: WorldDeployment }) => (
  <>
    {image !== '' && (
      <Fact name="Image of the run">
        <code>
          <Said text={image} />
        </code>
      </Fact>
    )}
    <Fact name="Cluster of the run">
      <Said text={compute.clusterName} />
    </Fact>
    {runtime.args.length > 0 && (
      <Fact name="Arguments of the run, which kubectl set">
        <pre class="setting-value">
          <Said text={runtime.args.join('\n')} />
        </pre>
      </Fact>
    )}
  </>
)

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
