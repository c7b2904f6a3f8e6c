/** The pages of an organization. The first one is the home, and has no segment in the URL. */
export const pages = ['fleet', 'launch', 'usage', 'projects', 'keys', 'webhooks', 'deleted', 'audit'] as const
/** The pages of the platform, which have no organization. Its list of organizations is the page `fleet` without one. */
export const platformPages = ['clusters', 'findings', 'doctor'] as const
export type PageName = (typeof pages)[number] | (typeof platformPages)[number]

/** Reports whether a page is one of the platform. */
export const isPlatformPage = (page: PageName): boolean => platformPages.some((each) => each === page)

/** The tabs of a world's page. */
export const tabs = ['now', 'runs', 'logs', 'events', 'settings', 'history'] as const
export type Tab = (typeof tabs)[number]

/** The members of a place that are in the query of its URL, with their names there. An empty one is not set. */
const parameters = {
  /** The filter of the fleet, of the launch, of the organizations and of the findings. */
  filter: 'q',
  /** The order of the fleet, such as `-age`. Empty for the default. */
  sort: 'sort',
  /** The columns of the fleet, separated by commas. Empty for the first ones. */
  columns: 'columns',
  /** The run whose log is shown. Empty for the newest. */
  run: 'run',
  /** The instants between which runs began or records were written. */
  since: 'since',
  until: 'until',
  /** The other filters of the audit records. */
  door: 'door',
  actor: 'actor',
  action: 'action',
  resource: 'resource',
  /** The limit that a link to the usage names. */
  limit: 'limit',
  /** The webhook whose deliveries are shown. */
  webhook: 'webhook',
} as const
type Parameter = keyof typeof parameters
const parameterNames = Object.keys(parameters) as Parameter[]

/**
 * The place that a URL of the console names. An empty id means that the URL has none: without an organization it is that of the
 * credential. With a world the place is its page.
 */
export type Place = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly page: PageName
  readonly tab: Tab
} & { readonly [Name in Parameter]: string }

/** The parameters of each page. The page of a world keeps those of the fleet, to which it leads back. */
const fleet = ['filter', 'sort', 'columns'] as const
const parametersOf: Readonly<Record<PageName | 'world', readonly Parameter[]>> = {
  fleet,
  world: [...fleet, 'run'],
  launch: ['filter', 'since'],
  usage: ['limit'],
  projects: [],
  keys: [],
  webhooks: ['webhook'],
  deleted: [],
  audit: ['since', 'until', 'door', 'actor', 'action', 'resource'],
  clusters: [],
  findings: ['filter'],
  doctor: [],
}
const parametersAt = ({ worldId, page }: Pick<Place, 'worldId' | 'page'>): readonly Parameter[] =>
  parametersOf[worldId === '' ? page : 'world']

const base = '/console/'
const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text)
const pattern =
  /^\/console\/(?:organizations\/([\w-]{1,64})\/)?(?:projects\/([\w-]{1,64})\/)?(?:worlds\/([\w-]{1,64})\/)?(?:(\w{1,16})\/)?$/

/** Returns the place of a URL of the console. Anything that it does not know leads to the fleet. */
export const parsePlace = ({ pathname, searchParams }: Pick<URL, 'pathname' | 'searchParams'>): Place => {
  const path = pathname.endsWith('/') ? pathname : `${pathname}/`
  const [, organizationId = '', projectId = '', id = '', last = ''] = pattern.exec(path) ?? []
  const worldId = projectId === '' ? '' : id
  const known: readonly PageName[] = organizationId + projectId === '' ? [...pages, ...platformPages] : pages
  const page = (worldId === '' && known.find((each) => each === last)) || 'fleet'
  const tab = (worldId !== '' && tabs.find((each) => each === last)) || 'now'
  const wanted = parametersAt({ worldId, page })
  const query = parameterNames.map((name) => [
    name,
    wanted.includes(name) ? (searchParams.get(parameters[name]) ?? '') : '',
  ])
  return { organizationId, projectId, worldId, page, tab, ...(Object.fromEntries(query) as Record<Parameter, string>) }
}

/**
 * Returns the path and query of a place, which is within the console. `parsePlace` returns the place again, without the parameters of
 * other pages. An id that no URL has is left out, with what is below it. A page of the platform in an organization is its fleet.
 */
export const toPath = (place: Place): string => {
  const { tab } = place
  const organizationId = isId(place.organizationId) ? place.organizationId : ''
  const projectId = isId(place.projectId) ? place.projectId : ''
  const page = organizationId + projectId !== '' && isPlatformPage(place.page) ? 'fleet' : place.page
  const worldId = projectId !== '' && isId(place.worldId) ? place.worldId : ''
  const last = worldId === '' ? page : tab
  const segments = [
    ...(organizationId === '' ? [] : ['organizations', organizationId]),
    ...(projectId === '' ? [] : ['projects', projectId]),
    ...(worldId === '' ? [] : ['worlds', worldId]),
    ...(last === 'fleet' || last === 'now' ? [] : [last]),
  ]
  const set = parametersAt({ worldId, page }).filter((name) => place[name] !== '')
  const query = new URLSearchParams(set.map((name) => [parameters[name], place[name]])).toString()
  return `${base}${segments.map((each) => `${each}/`).join('')}${query === '' ? '' : `?${query}`}`
}
