import type { Tab } from '#console/state/route.ts'
import { rowOf } from '../../live/fleet.ts'
import { fleetProject, hrefOf, place } from '../../live/location.ts'
import { type Session, session } from '../../live/session.ts'
import { FaultNotice } from '../FailureNotice.tsx'
import { PhaseBadge } from '../PhaseBadge.tsx'
import { CopyButton, Said, ZoneNote } from '../pieces.tsx'
import { Deleted } from './Actions.tsx'
import { Events } from './Events.tsx'
import { History } from './History.tsx'
import { Logs } from './Logs.tsx'
import { Now } from './Now.tsx'
import type { PageState } from './page.ts'
import { usePage } from './page.ts'
import { Runs } from './Runs.tsx'
import { Settings } from './Settings.tsx'
import { panelId, Tabs, tabId } from './Tabs.tsx'
import { WhyPanel } from './WhyPanel.tsx'
import './world.css'

type Ids = { readonly projectId: string; readonly worldId: string }

/** The page of a world: why it is in its state, then what it is, its runs, its logs and its events. */
export const WorldPage = (ids: Ids) => {
  const current = session.value
  if (current === undefined) return null
  return <World key={`${current.organizationId}/${ids.projectId}/${ids.worldId}`} session={current} {...ids} />
}

const World = (known: Ids & { readonly session: Session }) => {
  const page = usePage(known)
  const existence = page.existence.value
  return (
    <article class="world">
      <a class="back" href={hrefOf({ projectId: fleetProject.value, worldId: '', tab: 'now', run: '' })}>
        ← {fleetProject.value === '' ? 'All worlds' : 'Worlds of the project'}
      </a>
      {existence === 'notFound' ? (
        <NotFound page={page} />
      ) : (
        <Present page={page} isDeleted={existence === 'deleted'} />
      )}
    </article>
  )
}

const Present = ({ page, isDeleted }: { readonly page: PageState; readonly isDeleted: boolean }) => {
  const { slot, load } = page.world
  const { value: world, fault } = slot.value
  const row = rowOf(page.worldId)
  const name = row?.name ?? world?.name
  const phase = row?.phase ?? world?.status.phase
  return (
    <>
      <header class="world-head">
        <h1>{name === undefined ? 'World' : <Said text={name} />}</h1>
        {phase !== undefined && !isDeleted && <PhaseBadge phase={phase} />}
        <span class="world-id">
          <code>{page.worldId}</code> <CopyButton name="the id of the world" text={page.worldId} />
        </span>
      </header>
      {isDeleted && <Deleted page={page} />}
      {!isDeleted && fault !== undefined && world === undefined ? (
        <FaultNotice what="The world" fault={fault} onRetry={load} />
      ) : (
        <Content page={page} isDeleted={isDeleted} tab={place.value.tab} />
      )}
    </>
  )
}

const Content = ({
  page,
  isDeleted,
  tab,
}: {
  readonly page: PageState
  readonly isDeleted: boolean
  readonly tab: Tab
}) => {
  const Panel = panels[tab]
  if (isDeleted && page.world.slot.value.value === undefined) return null
  return (
    <>
      {!isDeleted && <WhyPanel page={page} isShort={tab !== 'now'} />}
      <Tabs present={tab} />
      <div id={panelId} role="tabpanel" aria-labelledby={tabId(tab)} class="panel">
        <Panel page={page} />
        {hasTimes.has(tab) && <ZoneNote />}
      </div>
    </>
  )
}

const hasTimes: ReadonlySet<Tab> = new Set(['now', 'runs', 'events', 'history'])
const panels = { now: Now, runs: Runs, logs: Logs, events: Events, settings: Settings, history: History } as const

const NotFound = ({ page }: { readonly page: PageState }) => (
  <div role="alert" class="notice error-state">
    <h1>There is no such world</h1>
    <p>
      The project <code>{page.projectId}</code> has no world <code>{page.worldId}</code> that this key can read. It may
      have been deleted, or the link may be incomplete.
    </p>
    {page.world.slot.value.fault?.requestId !== undefined && (
      <p class="muted small">
        Request <code>{page.world.slot.value.fault.requestId}</code>
      </p>
    )}
    <button type="button" onClick={page.world.load}>
      Retry
    </button>
  </div>
)
