import { type ComponentChildren, Fragment } from 'preact'
import type { BotDeployment, PortAddress, World } from '#client/operations.ts'
import { endMsOf, idleIn } from '#console/state/ends.ts'
import { formatAge, formatCount } from '#console/state/format.ts'
import { safeLink } from '#console/state/link.ts'
import type { Condition } from '#console/state/row.ts'
import { planOf } from '#console/state/schedule.ts'
import { describeAwake, reportOf } from '#console/state/server.ts'
import { hasRun } from '#console/state/settings/run.ts'
import { toVisible } from '#console/state/visible.ts'
import { now, rowOf } from '../../live/fleet.ts'
import { Age, CopyButton, Loaded, Said, Scrolled, Time } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'
import type { PageState } from './page.ts'
import { Remedy } from './Remedy.tsx'
import { Use } from './use/Use.tsx'

/** The present state of a world: its facts, its conditions and its bots. */
export const Now = ({ page }: { readonly page: PageState }) => (
  <Loaded slot={page.world.slot.value} what="The world" onRetry={page.world.load}>
    {(world) => (
      <>
        <Facts world={world} />
        <Conditions conditions={world.status.conditions} />
        <Use page={page} />
        <Bots page={page} />
      </>
    )}
  </Loaded>
)

const Fact = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** A fact that the server of the world reports. */
const Reported = ({ name, text }: { readonly name: string; readonly text: string }) =>
  text === '' ? null : (
    <Fact name={name}>
      <Said text={text} />
    </Fact>
  )

const Facts = ({ world }: { readonly world: World }) => {
  const { status, admission, networking, compute, runtime, metadata } = world
  const row = rowOf(world.documentId)
  const message = row?.message ?? status.message
  const reported = reportOf(world, row)
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  const labels = Object.entries(metadata.labels)
  return (
    <section aria-labelledby="facts-title">
      <h2 id="facts-title" class="visually-hidden">
        Facts
      </h2>
      <dl class="facts">
        <Fact name="Phase">
          {row?.phase ?? status.phase}
          {ready !== undefined && (
            <span class="muted">
              {' '}
              for <Age at={ready.lastTransitionAt} />
            </span>
          )}
        </Fact>
        {message !== '' && (
          <Fact name="Message">
            <Said text={message} />
          </Fact>
        )}
        <Fact name="Address">
          <Addresses status={status} />
        </Fact>
        <Fact name="Players">
          {reported.players}
          <span class="muted"> ({admission.policy})</span>
        </Fact>
        <Fact name="Profile">{networking.scaling.profile}</Fact>
        <Fact name="Place">
          {compute.group}, {compute.region}
        </Fact>
        <Fact name="Build">
          <Said text={buildOf(world)} />
        </Fact>
        {runtime.mapName !== '' && (
          <Fact name="Map">
            <Said text={runtime.mapName} />
          </Fact>
        )}
        <Reported name="Version of the server" text={reported.version} />
        <Reported name="Map of the server" text={reported.map} />
        <Duration world={world} />
        <Sleep world={world} />
        <Schedule world={world} />
        <Fact name="Created">
          <Time at={world.createdAt} />
        </Fact>
        {world.description !== '' && (
          <Fact name="Description">
            <Said text={world.description} />
          </Fact>
        )}
        {labels.length > 0 && (
          <Fact name="Labels">
            <ul class="labels">
              {labels.map(([key, value]) => (
                <li key={key} class="label">
                  <Said text={`${key}=${value}`} />
                </li>
              ))}
            </ul>
          </Fact>
        )}
      </dl>
    </section>
  )
}

const buildOf = ({ status: { resolvedBuild }, runtime: { build } }: World): string => {
  if (resolvedBuild !== undefined) return `${resolvedBuild.channelId}:${resolvedBuild.tag}`
  if (build === undefined) return 'Default image'
  return 'content' in build ? `Content ${build.content.id}` : `${build.channelId}:${build.tag}`
}

/** A time, and how long it is until then. */
const Coming = ({ at }: { readonly at: string }) => {
  const leftMs = Date.parse(at) - now.value
  return (
    <>
      <Time at={at} />
      {leftMs > 0 && <span class="muted"> (in {formatAge(leftMs)})</span>}
    </>
  )
}

/** The end of the run, and whether the world goes with it. */
const Duration = ({ world }: { readonly world: World }) => {
  const { transient } = world
  const { durationMinutes } = world.runtime
  if (durationMinutes === undefined) return transient ? <Fact name="Transient">Yes, without a duration</Fact> : null
  const endMs = endMsOf(world)
  return (
    <Fact name="Duration">
      {formatCount(durationMinutes)} min
      {endMs !== undefined && (
        <>
          , ends <Coming at={new Date(endMs).toISOString()} />
        </>
      )}
      {transient && <>; the world is deleted then</>}
    </Fact>
  )
}

/** The time after which the world sleeps, and whether it sleeps, will sleep or is kept awake. */
const Sleep = ({ world: { documentId, runtime, status } }: { readonly world: World }) => {
  const { idleStopMinutes, wakeOnAccess } = runtime
  // The feed is newer: the world may have been started or stopped.
  const { sleepsAt, keptAwakeBy, asleepSince } = idleIn(rowOf(documentId)?.phase ?? status.phase, status.idle)
  if (idleStopMinutes === undefined && asleepSince === undefined) return null
  return (
    <Fact name="Sleep">
      {asleepSince !== undefined ? (
        <>
          Asleep since <Time at={asleepSince} />
        </>
      ) : (
        <>After {formatCount(idleStopMinutes ?? 0)} min without players</>
      )}
      {sleepsAt !== undefined && (
        <>
          , sleeps at <Coming at={sleepsAt} />
        </>
      )}
      {keptAwakeBy !== undefined && <>, {describeAwake(keptAwakeBy)}</>}
      {wakeOnAccess === 'Access' && <>; users who may enter wake the world</>}
    </Fact>
  )
}

/** The next action of the schedule of the world. */
const Schedule = ({ world: { documentId, status } }: { readonly world: World }) => {
  const { nextAction } = status
  if (nextAction === undefined) return null
  const phase = rowOf(documentId)?.phase ?? status.phase
  return (
    <Fact name="Schedule">
      {planOf(nextAction, hasRun({ status: { ...status, phase } }), now.value).map(({ before, at, after }) => (
        <Fragment key={at}>
          {before} <Coming at={at} /> {after}{' '}
        </Fragment>
      ))}
    </Fact>
  )
}

const Addresses = ({ status: { addresses, address } }: Pick<World, 'status'>) => {
  const all: readonly PortAddress[] =
    addresses ?? (address === undefined ? [] : [{ name: '', protocol: 'TCP', ...address }])
  if (all.length === 0) return <span class="muted">None: no server can be reached</span>
  return (
    <ul class="addresses">
      {all.map((each) => (
        <Address key={each.name} address={each} />
      ))}
    </ul>
  )
}

const Address = ({ address: { name, protocol, host, port, url } }: { readonly address: PortAddress }) => {
  const text = url ?? `${host.includes(':') ? `[${host}]` : host}:${port}`
  const link = url === undefined ? undefined : safeLink(url)
  return (
    <li>
      <code>{link === undefined ? toVisible(text) : <OutsideLink href={link} />}</code>
      <CopyButton name={`the address ${toVisible(text)}`} text={text} />
      {name !== '' && (
        <span class="muted">
          <Said text={name} /> {protocol}
        </span>
      )}
    </li>
  )
}

const OutsideLink = ({ href }: { readonly href: string }) => (
  <a href={href} target="_blank" rel="noopener noreferrer">
    {toVisible(href)}
  </a>
)

const Conditions = ({ conditions }: { readonly conditions: readonly Condition[] }) => (
  <section aria-labelledby="conditions-title">
    <h2 id="conditions-title">Conditions</h2>
    {conditions.length === 0 ? (
      <p class="empty">The operator has not reported yet.</p>
    ) : (
      <Scrolled label="Table of conditions">
        <table>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Status</th>
              <th scope="col">Reason</th>
              <th scope="col">Message</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {conditions.map(({ type, status, reason, message, remedy, lastTransitionAt }) => (
              <tr key={type}>
                <th scope="row">{type}</th>
                <td>{status}</td>
                <td>
                  <Said text={reason} />
                </td>
                <td class="wide">
                  <Said text={message} />
                  {/* The other conditions have the same cause. */}
                  {['Degraded', 'Synced'].includes(type) && <Remedy message={message} remedy={remedy} />}
                </td>
                <td>
                  <Age at={lastTransitionAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
    )}
  </section>
)

const Bots = ({ page }: { readonly page: PageState }) => {
  const { slot, load } = useLoader(page.reads.bots, page.version)
  return (
    <section aria-labelledby="bots-title">
      <h2 id="bots-title">Bots</h2>
      <Loaded slot={slot.value} what="The bots" onRetry={load}>
        {(bots) => (bots.length === 0 ? <p class="empty">This world has no bots.</p> : <BotTable bots={bots} />)}
      </Loaded>
    </section>
  )
}

const BotTable = ({ bots }: { readonly bots: readonly BotDeployment[] }) => (
  <Scrolled label="Table of bots">
    <table>
      <thead>
        <tr>
          <th scope="col">Bots</th>
          <th scope="col">Phase</th>
          <th scope="col">Count</th>
          <th scope="col">Message</th>
        </tr>
      </thead>
      <tbody>
        {bots.map(({ documentId, description, status, configuration }) => (
          <tr key={documentId}>
            <th scope="row">
              {description === '' ? <code class="id">{documentId}</code> : <Said text={description} />}
            </th>
            <td>{status.phase}</td>
            <td class="number">{formatCount(configuration.count)}</td>
            <td class="wide">
              <Said text={status.message} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolled>
)
