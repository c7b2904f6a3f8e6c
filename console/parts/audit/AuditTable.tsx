import type { AuditRecord } from '#client/operations.ts'
import { actorNames, doorNames, nameOwn, placeOfResource } from '#console/state/audit.ts'
import type { Place } from '#console/state/route.ts'
import { rowOf } from '../../live/fleet.ts'
import { hrefOf } from '../../live/location.ts'
import { names } from '../../live/names.ts'
import type { Session } from '../../live/session.ts'
import { Said, Scrolled, Time } from '../pieces.tsx'
import { Several } from './Several.tsx'
import './records.css'

/** Returns the URL of the organization's audit with more filters. */
const auditWith = (filters: Partial<Place>): string =>
  hrefOf({ page: 'audit', projectId: '', worldId: '', tab: 'now', ...filters })

/** Audit records: when, who and through which door, what, on which resources and fields. `omit` is a resource that all of them have. */
export const AuditTable = ({
  records,
  credential,
  omit = '',
}: {
  readonly records: readonly AuditRecord[]
  readonly credential: Session['credential']
  readonly omit?: string
}) => (
  <Scrolled label="Table of changes">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Who</th>
          <th scope="col">Action</th>
          <th scope="col">{omit === '' ? 'Resources' : 'Other resources'}</th>
          <th scope="col">Fields</th>
          <th scope="col">Request</th>
        </tr>
      </thead>
      <tbody>
        {records.map((record) => (
          <Row key={record.id} record={record} credential={credential} omit={omit} />
        ))}
      </tbody>
    </table>
  </Scrolled>
)

const Row = ({
  record,
  credential,
  omit,
}: {
  readonly record: AuditRecord
  readonly credential: Session['credential']
  readonly omit: string
}) => {
  const { createdAt, actor, door, action, resources, fields, address, requestId, projectId = '' } = record
  const others = resources.filter((each) => each !== omit)
  // A request on a project names it by its scope alone.
  const shown = others.length === 0 && omit === '' && projectId !== '' ? [projectId] : others
  return (
    <tr>
      <td>
        <Time at={createdAt} />
      </td>
      <td class="who">
        {actorNames[actor.kind]}
        {actor.kind === credential.kind && actor.id === credential.id && (
          <strong>
            : <Said text={nameOwn(credential)} />
          </strong>
        )}
        {actor.id !== undefined && (
          <a href={auditWith({ actor: actor.id })} class="mono">
            <Said text={actor.id} />
          </a>
        )}
        <span class="muted small under">
          {doorNames[door]}
          {address !== undefined && `, from ${address}`}
        </span>
      </td>
      <td>
        <a href={auditWith({ action })}>
          <Said text={action} />
        </a>
      </td>
      <td>
        <Several items={shown.map((id) => <Resource key={id} id={id} projectId={projectId} />)} />
      </td>
      <td class="fields">
        <Several
          items={fields.map((field) => (
            <code key={field}>
              <Said text={field} />
            </code>
          ))}
        />
      </td>
      <td>
        {requestId !== undefined && (
          <code class="id request">
            <Said text={requestId} />
          </code>
        )}
      </td>
    </tr>
  )
}

const Resource = ({ id, projectId }: { readonly id: string; readonly projectId: string }) => {
  const name = rowOf(id)?.name ?? names.value.projects.find((each) => each.projectId === id)?.name
  return (
    <>
      <a href={hrefOf(placeOfResource(id, projectId))} class={name === undefined ? 'mono' : ''}>
        <Said text={name ?? id} />
      </a>
      {name !== undefined && <code class="id under">{id}</code>}
    </>
  )
}
