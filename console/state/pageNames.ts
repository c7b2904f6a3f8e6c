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
}
