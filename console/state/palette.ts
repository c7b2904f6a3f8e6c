import type { OperationId } from '#client/types.ts'
import { type ActionKind, type ActionPhase, actions, offersIn } from './actions.ts'
import { termsOf } from './filter.ts'
import { type Candidate, findWorlds, nowhere, rankOf, wordsOf } from './findWorlds.ts'
import { formatCount } from './format.ts'
import { pageNames } from './pageNames.ts'
import { type Rights, refusalOf } from './rights.ts'
import { type Place, platformPages, type Tab, tabs } from './route.ts'
import type { Phase, Row } from './row.ts'

/** The effect of an entry of the palette. */
export type Deed =
  | { readonly kind: 'go'; readonly to: Partial<Place> }
  | { readonly kind: 'act'; readonly action: ActionKind; readonly worldId: string }
  | { readonly kind: 'copyLink' | 'signOut' }

/** An entry of the palette. A tenant may have written its label and its detail. */
export type Entry = {
  /** Names the same entry in each list. */
  readonly id: string
  readonly label: string
  /** A text behind the label. */
  readonly detail?: string
  /** The phase of a world. */
  readonly phase?: Phase
  /** The reason why the entry does nothing, without a full stop. */
  readonly refusal?: string | undefined
  readonly deed: Deed
}

/** Entries with a title, the best first. */
export type EntryGroup = { readonly title: string; readonly entries: readonly Entry[] }

/** The things for which the palette has entries. */
export type Offered = {
  readonly credential: Rights
  /** Empty until an organization is chosen. */
  readonly organizationId: string
  /** The project of the fleet that was shown last. */
  readonly fleetProject: string
  /** The world of the page behind the palette. Without a phase, it has no actions. */
  readonly world:
    | {
        readonly id: string
        readonly projectId: string
        readonly name: string
        readonly phase: ActionPhase | undefined
      }
    | undefined
  /** True while the page does not show the effect of the last action. */
  readonly isActing: boolean
  readonly worlds: readonly Candidate[]
  /** The organizations of a credential that has several. */
  readonly organizations: readonly { readonly documentId: string; readonly name: string }[] | undefined
  /** The number of edits that the user was told to lose by the sign-out. */
  readonly lostEdits: number
}

/** The most entries of a group. */
const maxEntries = 8

/**
 * Returns the entries whose texts have all words of a search, the group with the best one first. Without a word it returns all but the
 * worlds. An entry that the credential does not permit has the missing permission as its refusal.
 */
export const entriesFor = (text: string, offered: Offered): readonly EntryGroup[] => {
  const words = wordsOf(text)
  // One more, to know whether there are others.
  const [found, hasOthers] = limit(findWorlds(text, offered.worlds, maxEntries + 1))
  const rank = found[0]?.rank ?? nowhere
  const groups: readonly Ranked[] = [
    // Before the actions, so that a part of a name followed by Enter never acts.
    { title: 'Worlds', entries: found.map(({ row, hint }) => toWorld(row, hint)), rank },
    { title: 'Filter', ...filterOf(text, offered, { rank, hasOthers }) },
    ...groupsOf(offered).map((group) => rankGroup(group, words)),
  ]
  return groups.filter(({ entries }) => entries.length > 0).sort((a, b) => a.rank - b.rank)
}

const limit = <T>(items: readonly T[]): [items: readonly T[], hasOthers: boolean] => [
  items.slice(0, maxEntries),
  items.length > maxEntries,
]

/** The entry that filters the fleet: the best one for a text with a key of a filter, else after the worlds if they are too many. */
const filterOf = (
  text: string,
  { organizationId, fleetProject: projectId }: Offered,
  { rank, hasOthers }: { readonly rank: number; readonly hasOthers: boolean },
): Omit<Ranked, 'title'> => {
  const filter = text.trim()
  const hasKey = termsOf(filter).some(({ key }) => key !== '')
  if (organizationId === '' || !(hasKey || hasOthers)) return { entries: [], rank: nowhere }
  const to = { ...noWorld, page: 'fleet', projectId, filter } as const
  const entry: Entry = { id: 'filter', label: `Filter the worlds by ${filter}`, deed: { kind: 'go', to } }
  return { entries: [entry], rank: hasKey ? 0 : rank }
}

type Ranked = EntryGroup & { readonly rank: number }

const rankGroup = ({ title, entries }: EntryGroup, words: readonly string[]): Ranked => {
  const ranked = entries
    .map((entry) => ({ entry, rank: rankEntry(entry, words) }))
    .filter(({ rank }) => rank !== nowhere)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, maxEntries)
  return { title, entries: ranked.map(({ entry }) => entry), rank: ranked[0]?.rank ?? nowhere }
}

/** The rank of a word in the detail, behind those in the label. */
const inDetail = 4
/** Added to the rank of an entry that acts, unless the text is its label: it is then behind all that only leads to a page. */
const behind = 1_000
const rankEntry = (entry: Entry, words: readonly string[]): number => {
  const { label, detail = '' } = entry
  const ranks = words.map((word) => {
    const rank = rankOf(label.toLowerCase(), word)
    return rank === nowhere && detail.toLowerCase().includes(word) ? inDetail : rank
  })
  const sum = ranks.reduce((total, each) => total + each, 0)
  if (words.length === 0 || !acts(entry) || isNamed(entry, words)) return sum
  return ranks.every((rank) => rank === inDetail) ? nowhere : sum + behind
}
const acts = ({ deed }: Entry): boolean => deed.kind === 'act' || deed.kind === 'signOut'
const isNamed = ({ label }: Entry, words: readonly string[]): boolean => label.toLowerCase() === words.join(' ')

/** Returns the entry that Enter does unless another one is chosen. An entry that acts needs its label in full. */
export const firstChoice = (text: string, groups: readonly EntryGroup[]): Entry | undefined => {
  const first = groups[0]?.entries[0]
  return first !== undefined && acts(first) && !isNamed(first, wordsOf(text)) ? undefined : first
}

const toWorld = ({ id, projectId, name, phase }: Row, hint: string): Entry => ({
  id: `world ${id}`,
  label: name,
  detail: hint === '' ? id : hint,
  phase,
  deed: { kind: 'go', to: { projectId, worldId: id, page: 'fleet', tab: 'now', run: '' } },
})

const groupsOf = (offered: Offered): readonly EntryGroup[] => [
  { title: 'This world', entries: tabEntries(offered) },
  { title: 'Pages', entries: pageEntries(offered) },
  { title: 'Actions', entries: actionEntries(offered) },
  { title: 'Platform', entries: platformEntries(offered) },
  { title: 'Organizations', entries: organizationEntries(offered) },
  { title: 'Console', entries: consoleEntries(offered) },
]

const tabEntriesOf: Readonly<Record<Tab, { readonly label: string; readonly needs?: OperationId }>> = {
  now: { label: 'Now' },
  runs: { label: 'Runs' },
  logs: { label: 'Logs', needs: 'readWorldLog' },
  events: { label: 'Events' },
  settings: { label: 'Settings' },
  history: { label: 'History', needs: 'listAuditRecords' },
}

const refuse = ({ credential, organizationId, world }: Offered, needs: OperationId | undefined): string | undefined => {
  const target = { organizationId, projectId: world?.projectId ?? '', worldId: world?.id ?? '' }
  return needs === undefined ? undefined : refusalOf(credential, needs, target)
}

const tabEntries = (offered: Offered): readonly Entry[] =>
  offered.world === undefined
    ? []
    : tabs.map((tab) => ({
        id: `tab ${tab}`,
        label: tabEntriesOf[tab].label,
        refusal: refuse(offered, tabEntriesOf[tab].needs),
        deed: { kind: 'go', to: { tab, run: '' } },
      }))

/** The pages of an organization, in the order of their links, with the operation without which a page shows nothing. */
const pages = [
  { page: 'fleet' },
  { page: 'launch' },
  { page: 'usage', needs: 'getUsage' },
  { page: 'projects' },
  { page: 'keys', needs: 'listApiKeys' },
  { page: 'webhooks', needs: 'listWebhooks' },
  { page: 'deleted' },
  { page: 'audit', needs: 'listAuditRecords' },
] as const satisfies readonly { readonly page: Place['page']; readonly needs?: OperationId }[]

/** The members of a place that no page without a world or organization of its own keeps. */
const noWorld = { worldId: '', tab: 'now', run: '' } as const

const pageEntries = (offered: Offered): readonly Entry[] =>
  offered.organizationId === ''
    ? []
    : pages.map((each) => {
        const { page } = each
        const projectId = page === 'fleet' || page === 'launch' ? offered.fleetProject : ''
        return {
          id: `page ${page}`,
          label: pageNames[page],
          refusal: refuse(offered, 'needs' in each ? each.needs : undefined),
          deed: { kind: 'go', to: { ...noWorld, page, projectId } },
        }
      })

/** The actions that the phase permits. A deletion is never one press of a key, so it is not among them. */
const actionEntries = (offered: Offered): readonly Entry[] => {
  const { world, isActing } = offered
  if (world?.phase === undefined) return []
  return offersIn(world.phase, [])
    .filter(({ kind }) => kind !== 'delete')
    .map(({ kind }) => ({
      id: `action ${kind}`,
      label: actions[kind].label,
      detail: world.name,
      refusal: refuse(offered, actions[kind].operationId) ?? (isActing ? 'The last action is not done yet' : undefined),
      deed: { kind: 'act', action: kind, worldId: world.id },
    }))
}

/** The members of a place without an organization. */
const nowhereElse = { ...noWorld, organizationId: '', projectId: '', filter: '' } as const

/** The pages of the platform, of which other credentials see nothing. */
const platformEntries = (offered: Offered): readonly Entry[] =>
  refuse(offered, 'getSyncStatus') !== undefined
    ? []
    : platformPages.map((page) => ({
        id: `page ${page}`,
        label: pageNames[page],
        deed: { kind: 'go', to: { ...nowhereElse, page } },
      }))

const organizationEntries = ({ organizations, organizationId }: Offered): readonly Entry[] => {
  if (organizations === undefined) return []
  const others = organizations.filter(({ documentId }) => documentId !== organizationId)
  const to = { ...nowhereElse, page: 'fleet' } as const
  return [
    { id: 'organizations', label: 'All organizations', deed: { kind: 'go', to } },
    ...others.map(
      ({ documentId, name }): Entry => ({
        id: `organization ${documentId}`,
        label: name,
        detail: documentId,
        deed: { kind: 'go', to: { ...to, organizationId: documentId } },
      }),
    ),
  ]
}

const consoleEntries = ({ lostEdits }: Offered): readonly Entry[] => [
  { id: 'copy', label: 'Copy a link', detail: 'to this page', deed: { kind: 'copyLink' } },
  {
    id: 'sign out',
    label: lostEdits === 0 ? 'Sign out' : `Sign out and lose ${formatCount(lostEdits, 'edit')}`,
    deed: { kind: 'signOut' },
  },
]

/** Returns the index of the entry to which a key leads in a list, or undefined for other keys. The arrows go around. */
export const entryAfter = (present: number, key: string, count: number): number | undefined => {
  if (count === 0) return undefined
  if (key === 'ArrowDown') return (present + 1) % count
  if (key === 'ArrowUp') return present <= 0 ? count - 1 : present - 1
  return undefined
}
