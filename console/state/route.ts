/** The tabs of a world's page. */
export const tabs = ['now', 'runs', 'logs', 'events'] as const
export type Tab = (typeof tabs)[number]

/**
 * The place that a URL of the console names. An empty id means that the URL has none: without an organization it is that of the
 * credential, and without a world the place is the fleet.
 */
export type Place = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly tab: Tab
  /** The filter of the fleet. */
  readonly filter: string
  /** The order of the fleet, such as `-age`. Empty for the default. */
  readonly sort: string
  /** The columns of the fleet, separated by commas. Empty for the first ones. */
  readonly columns: string
  /** The run whose log is shown. Empty for the newest. */
  readonly run: string
}

const base = '/console/'
const pattern =
  /^\/console\/(?:organizations\/([\w-]{1,64})\/)?(?:projects\/([\w-]{1,64})\/)?(?:worlds\/([\w-]{1,64})\/)?(?:(\w{1,16})\/)?$/

/** Returns the place of a URL of the console. Anything that it does not know leads to the fleet. */
export const parsePlace = ({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>): Place => {
  const path = pathname.endsWith('/') ? pathname : `${pathname}/`
  const [, organizationId = '', projectId = '', worldId = '', tab = ''] = pattern.exec(path) ?? []
  return {
    organizationId,
    projectId,
    worldId: projectId === '' ? '' : worldId,
    tab: tabs.find((each) => each === tab) ?? 'now',
    filter: searchParams.get('q') ?? '',
    sort: searchParams.get('sort') ?? '',
    columns: searchParams.get('columns') ?? '',
    run: searchParams.get('run') ?? '',
  }
}

/** Returns the path and query of a place. `parsePlace` returns the place again. */
export const toPath = ({ organizationId, projectId, worldId, tab, filter, sort, columns, run }: Place): string => {
  const segments = [
    ...(organizationId === '' ? [] : ['organizations', organizationId]),
    ...(projectId === '' ? [] : ['projects', projectId]),
    ...(worldId === '' ? [] : ['worlds', worldId]),
    ...(worldId === '' || tab === 'now' ? [] : [tab]),
  ]
  const query = new URLSearchParams(
    Object.entries({ q: filter, sort, columns, run: worldId === '' ? '' : run }).filter(([, value]) => value !== ''),
  ).toString()
  return `${base}${segments.map((each) => `${each}/`).join('')}${query === '' ? '' : `?${query}`}`
}
