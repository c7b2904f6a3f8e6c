import { useSignal } from '@preact/signals'
import type { Organization } from '#client/client.ts'
import { formatCount } from '#console/state/format.ts'
import { matchText } from '#console/state/platform/match.ts'
import { toVisible } from '#console/state/visible.ts'
import { hrefOf, place } from '../../live/location.ts'
import { type List, readAll } from '../../live/readAll.ts'
import type { Session } from '../../live/session.ts'
import { CopyButton, Said, Scrolled, Time } from '../pieces.tsx'
import { FilterField, Reading } from './pieces.tsx'
import { useReading } from './useReading.ts'

/** The organizations of one request, and the most requests of one reading. */
const pageLength = 500
const maxPages = 20
/** The most rows of the table. */
const maxShown = 500

/** The organizations that the credential can read, to choose one. */
export const Organizations = ({ session: { client } }: { readonly session: Session }) => {
  const wanted = useSignal(1)
  const reading = useReading(
    (signal) => readAll(client.pages('listOrganizations', { query: { limit: pageLength }, signal }), wanted.peek()),
    ({ isLong }) => isLong,
  )
  const onMore =
    wanted.value === maxPages
      ? undefined
      : () => {
          wanted.value += 1
          reading.load()
        }
  return (
    <>
      <Reading reading={reading} what="The organizations">
        {(list) =>
          list.items.length === 0 ? (
            <p class="empty">There is no organization yet. POST /api/organizations/ creates one.</p>
          ) : (
            <Found list={list} onMore={onMore} />
          )
        }
      </Reading>
      <p class="muted small">
        A deleted organization is not listed. Until it is erased it comes back with its worlds:{' '}
        <code class="id">POST /api/organizations/&lt;organizationId&gt;/restore/</code>.
      </p>
    </>
  )
}

const Found = ({
  list: { items, hasMore },
  onMore,
}: {
  readonly list: List<Organization>
  readonly onMore: (() => void) | undefined
}) => {
  const matching = matchText(items, place.value.filter, ({ name, documentId, tenantId }) => [
    name,
    documentId,
    tenantId,
  ])
  const all = formatCount(items.length, 'organization')
  return (
    <>
      <FilterField
        placeholder="name or id"
        result={matching.length === items.length ? all : `${formatCount(matching.length)} of ${all}`}
      />
      {matching.length === 0 ? <p class="empty">No organization matches the filter.</p> : <Table found={matching} />}
      {matching.length > maxShown && (
        <p class="muted small">The first {formatCount(maxShown)} are shown. The filter finds the others.</p>
      )}
      {hasMore && (
        <p class="muted small">
          There are more organizations, in which the filter does not search.{' '}
          {onMore === undefined ? (
            'The URL of an organization leads to it: /console/organizations/<organizationId>/.'
          ) : (
            <button type="button" onClick={onMore}>
              Read more
            </button>
          )}
        </p>
      )}
    </>
  )
}

const Table = ({ found }: { readonly found: readonly Organization[] }) => (
  <Scrolled label="Table of organizations">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Organization</th>
          <th scope="col">Id</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {found.slice(0, maxShown).map(({ documentId, name, createdAt }) => (
          <tr key={documentId}>
            <th scope="row" class="wide">
              <a href={hrefOf({ organizationId: documentId, page: 'fleet', filter: '' })}>
                <Said text={name} />
              </a>
            </th>
            <td data-name="Id">
              <code class="id">{documentId}</code>{' '}
              <CopyButton name={`the id of the organization ${toVisible(name)}`} text={documentId} />
            </td>
            <td data-name="Created">
              <Time at={createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolled>
)
