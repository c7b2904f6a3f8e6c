import { pageNameIn } from '#console/state/pageNames.ts'
import type { PageName } from '#console/state/route.ts'
import { place } from '../../live/location.ts'
import { type Session, session } from '../../live/session.ts'
import { Permitted } from '../Permitted.tsx'
import { ZoneNote } from '../pieces.tsx'
import { Clusters } from './Clusters.tsx'
import { Doctor } from './Doctor.tsx'
import { Findings } from './Findings.tsx'
import { Organizations } from './Organizations.tsx'
import '../organization/organization.css'
import './platform.css'

const parts = { clusters: Clusters, findings: Findings, doctor: Doctor }

const isPart = (page: PageName): page is keyof typeof parts => Object.hasOwn(parts, page)

/** The pages without an organization: the organizations of the credential, and those of the platform. */
export const PlatformPage = () => {
  const { page } = place.value
  const current = session.value
  if (current === undefined) return null
  return (
    <article class="organization-page">
      <h1>{pageNameIn('', isPart(page) ? page : 'fleet')}</h1>
      {isPart(page) ? <Part key={page} page={page} session={current} /> : <Organizations session={current} />}
      <ZoneNote />
    </article>
  )
}

const Part = ({ page, session: current }: { readonly page: keyof typeof parts; readonly session: Session }) => {
  const Content = parts[page]
  return (
    <Permitted session={current} operationId="getSyncStatus" what="the state of the platform">
      <Content client={current.client} />
    </Permitted>
  )
}
