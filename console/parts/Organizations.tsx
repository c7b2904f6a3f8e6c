import { useSignal, useSignalEffect } from '@preact/signals'
import type { Organization } from '#client/client.ts'
import { toVisible } from '#console/state/visible.ts'
import { hrefOf } from '../live/location.ts'
import { session } from '../live/session.ts'
import { FailureNotice } from './FailureNotice.tsx'

/** The pages that are read. Beyond them the address of an organization leads to it: /console/organizations/<id>/. */
const maxPages = 20

/** The organizations of a credential that has several, to choose one. */
export const Organizations = () => {
  const found = useSignal<readonly Organization[] | undefined>(undefined)
  const failure = useSignal<unknown>(undefined)
  useSignalEffect(() => {
    const current = session.value
    const load = async (): Promise<void> => {
      const all: Organization[] = []
      try {
        let pages = 0
        for await (const page of current?.client.pages('listOrganizations') ?? []) {
          all.push(...page)
          found.value = [...all]
          pages += 1
          if (pages === maxPages) break
        }
      } catch (error) {
        failure.value = error
      }
    }
    void load()
  })
  return (
    <>
      <h1>Organizations</h1>
      {failure.value !== undefined && <FailureNotice error={failure.value} />}
      {found.value === undefined && failure.value === undefined && <p class="muted">Loading…</p>}
      {found.value?.length === 0 && <p>There is no organization yet. POST /api/organizations/ creates one.</p>}
      <ul class="choices">
        {found.value?.map(({ documentId, name }) => (
          <li key={documentId}>
            <a href={hrefOf({ organizationId: documentId })}>{toVisible(name)}</a>{' '}
            <code class="muted">{documentId}</code>
          </li>
        ))}
      </ul>
    </>
  )
}
