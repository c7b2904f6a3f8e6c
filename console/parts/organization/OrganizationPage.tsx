import { pageNames } from '#console/state/pageNames.ts'
import type { PageName } from '#console/state/route.ts'
import { hrefOf, place } from '../../live/location.ts'
import { session } from '../../live/session.ts'
import { ZoneNote } from '../pieces.tsx'
import { Audit } from './Audit.tsx'
import { Deleted } from './Deleted.tsx'
import { Keys } from './Keys.tsx'
import { Projects } from './Projects.tsx'
import { Usage } from './Usage.tsx'
import { Webhooks } from './Webhooks.tsx'
import './organization.css'

const parts = { usage: Usage, projects: Projects, keys: Keys, webhooks: Webhooks, deleted: Deleted, audit: Audit }
type PartName = keyof typeof parts

const isPart = (page: PageName): page is PartName => Object.hasOwn(parts, page)

/** The pages about an organization itself, with links to each. */
export const OrganizationPage = () => {
  const { page } = place.value
  const current = session.value
  if (current === undefined || !isPart(page)) return null
  const Part = parts[page]
  return (
    <article class="organization-page">
      <nav class="nav" aria-label="Organization">
        {(Object.keys(parts) as PartName[]).map((name) => (
          <a key={name} href={hrefOf({ page: name, projectId: '' })} aria-current={name === page ? 'page' : undefined}>
            {pageNames[name]}
          </a>
        ))}
      </nav>
      <h1>{pageNames[page]}</h1>
      <Part key={`${page} ${current.organizationId}`} session={current} />
      {page !== 'usage' && page !== 'projects' && <ZoneNote />}
    </article>
  )
}
