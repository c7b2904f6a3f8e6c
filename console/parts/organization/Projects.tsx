import { useComputed } from '@preact/signals'
import type { Project } from '#client/operations.ts'
import { phases } from '#console/state/attention.ts'
import { formatCount } from '#console/state/format.ts'
import { countPhases } from '#console/state/groups.ts'
import { countByProject, type Worlds } from '#console/state/projects.ts'
import { toVisible } from '#console/state/visible.ts'
import { isLoaded, rows } from '../../live/fleet.ts'
import { hrefOf } from '../../live/location.ts'
import { type Items, readAll } from '../../live/readAll.ts'
import type { Session } from '../../live/session.ts'
import { PhaseBadge } from '../PhaseBadge.tsx'
import { CopyButton, Loaded, Said, Scrolled } from '../pieces.tsx'
import { LongNote } from './LongNote.tsx'
import { useList } from './useList.ts'

/** The projects that the credential can read, with their worlds. */
export const Projects = ({ session }: { readonly session: Session }) => {
  const { slot, load } = useList((signal) =>
    readAll(session.client.pages('listProjects', { query: { limit: 500 }, signal }), 2),
  )
  return (
    <Loaded slot={slot.value} what="The projects" onRetry={load}>
      {(projects) =>
        projects.items.length === 0 ? (
          <p class="empty">
            There is no project that this sign-in can read. POST /api/organizations/projects/ creates one.
          </p>
        ) : (
          <>
            <Table projects={projects} followed={session.projectId} />
            <LongNote list={projects} onRead={load} />
          </>
        )
      }
    </Loaded>
  )
}

/** `followed` is the only project whose worlds the feed shows. Empty for all. */
const Table = ({
  projects: { items, hasMore },
  followed,
}: {
  readonly projects: Items<Project>
  readonly followed: string
}) => {
  const counts = useComputed(() => countByProject(rows.value.values()))
  const worldsOf = (projectId: string): Worlds | undefined =>
    isLoaded.value && (followed === '' || followed === projectId)
      ? (counts.value.get(projectId) ?? countPhases([]))
      : undefined
  return (
    <>
      <Scrolled label="Table of projects">
        <table class="stacked">
          <thead>
            <tr>
              <th scope="col">Project</th>
              <th scope="col">Access</th>
              <th scope="col" class="number">
                Worlds
              </th>
              {phases.map((phase) => (
                <th key={phase} scope="col" class="number">
                  <PhaseBadge phase={phase} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((project) => (
              <ProjectRow key={project.projectId} project={project} worlds={worldsOf(project.projectId)} />
            ))}
          </tbody>
        </table>
      </Scrolled>
      <p class="muted small">
        Worlds are those that this sign-in can read, live.
        {followed !== '' && ' It can follow one project at a time; open another one to see its worlds.'}
        {hasMore &&
          ` The first ${formatCount(items.length)} projects are shown. GET /api/organizations/projects/ returns all.`}
      </p>
    </>
  )
}

const accessWords: Readonly<Record<Project['permissionVerb'], string>> = {
  r: 'Read',
  w: 'Read and change',
  '*': 'Full access',
}

const ProjectRow = ({
  project: { projectId, name, permissionVerb },
  worlds,
}: {
  readonly project: Project
  readonly worlds: Worlds | undefined
}) => {
  const fleet = { page: 'fleet', projectId, worldId: '' } as const
  return (
    <tr>
      <th scope="row" class="wide">
        <a href={hrefOf(fleet)}>
          <Said text={name} />
        </a>
        <span class="notes">
          <code class="id">{projectId}</code>
          <CopyButton name={`the id of the project ${toVisible(name)}`} text={projectId} />
        </span>
      </th>
      <td data-name="Access">{accessWords[permissionVerb]}</td>
      <td data-name="Worlds" class="number">
        {worlds === undefined ? '–' : formatCount(Object.values(worlds).reduce((sum, count) => sum + count, 0))}
      </td>
      {phases.map((phase) => (
        <td key={phase} data-name={phase} class="number">
          <Count count={worlds?.[phase]} href={hrefOf({ ...fleet, filter: `phase:${phase}` })} phase={phase} />
        </td>
      ))}
    </tr>
  )
}

const Count = ({
  count,
  href,
  phase,
}: {
  readonly count: number | undefined
  readonly href: string
  readonly phase: string
}) => {
  if (count === undefined) return <>–</>
  if (count === 0) return <span class="muted">0</span>
  return (
    <a href={href} aria-label={`${formatCount(count, 'world')} in ${phase}`}>
      {formatCount(count)}
    </a>
  )
}
