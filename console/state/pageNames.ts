import type { PageName } from './route.ts'

/** The name of each page, as links and titles have it. */
export const pageNames: Readonly<Record<PageName, string>> = {
  fleet: 'Worlds',
  launch: 'Launch',
  usage: 'Usage',
  projects: 'Projects',
  keys: 'Keys',
  webhooks: 'Webhooks',
  deleted: 'Deleted',
  audit: 'Audit',
  clusters: 'Clusters',
  findings: 'Findings',
  doctor: 'Doctor',
}

/** Returns the name of a page of an organization, or of the platform if the id is empty. */
export const pageNameIn = (organizationId: string, page: PageName): string =>
  organizationId === '' && page === 'fleet' ? 'Organizations' : pageNames[page]
