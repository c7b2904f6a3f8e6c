import type { World } from '#client/operations.ts'
import type { Kind } from './forms.ts'

/** A setting that `PATCH /api/worlds/{worldId}/` changes. */
export type Field = {
  /** The path in the body of the PATCH, such as `networking.scaling.profile`. */
  readonly id: string
  readonly name: string
  readonly kind: Kind
  /** The values of a choice, or the protocols of a query. */
  readonly choices?: readonly string[]
  /** The word for the setting in `status.message`, for one that a run keeps from its start. Absent for one that acts at once. */
  readonly pendingWord?: string
  /** The value that an absent one means. */
  readonly absent?: string
  readonly hint?: string
}

// The keys of a record, so that a new value of the API does not compile until it is here.
const keysOf = <T extends string>(all: Readonly<Record<T, 1>>): readonly T[] => Object.keys(all) as T[]

const profiles = keysOf<World['networking']['scaling']['profile']>({
  Capacity10: 1,
  Capacity30: 1,
  Capacity60: 1,
  Capacity100: 1,
  Capacity250: 1,
  Capacity500: 1,
  Capacity1000: 1,
  Capacity1500: 1,
  Capacity2500: 1,
  Capacity5000: 1,
  Capacity7500: 1,
  Capacity10000: 1,
})
const strategies = keysOf<World['networking']['strategy']>({
  Default: 1,
  HostPort: 1,
  Route: 1,
  ClusterIP: 1,
  NodePort: 1,
  LoadBalancer: 1,
})
const groups = keysOf<World['compute']['group']>({ production: 1, staging: 1, development: 1 })
const regions = keysOf<World['compute']['region']>({ Europe: 1, NorthAmerica: 1, AsiaPacific: 1 })
const policies = keysOf<World['admission']['policy']>({ Open: 1, Queued: 1, Closed: 1 })

const protocols = keysOf<NonNullable<World['runtime']['query']>['protocol']>({
  Http: 1,
  A2S: 1,
  MinecraftJava: 1,
  MinecraftBedrock: 1,
  SQP: 1,
})

const wakes = keysOf<NonNullable<World['runtime']['wakeOnAccess']>>({ Never: 1, Access: 1 })

const quoting = 'One in each line. A text in double quotes is read as JSON.'

/** The settings that a run keeps from its start to its end. An edit acts at the next start. */
export const runFields: readonly Field[] = [
  { id: 'runtime.build', name: 'Build', kind: 'build', pendingWord: 'build' },
  { id: 'runtime.mapName', name: 'Map', kind: 'text', pendingWord: 'map' },
  {
    id: 'runtime.query',
    name: 'Query',
    kind: 'query',
    choices: protocols,
    pendingWord: 'query',
    hint: 'How the platform asks the server for its players. An empty port is 8080 for Http, else the first public port with the transport of the protocol. A server with another protocol than Http has no probes: it is ready once it has answered.',
  },
  {
    id: 'networking.scaling.profile',
    name: 'Profile',
    kind: 'choice',
    choices: profiles,
    pendingWord: 'scaling profile',
    hint: 'A capacity that is the number of the old profile becomes that of the new one. To keep it, undo its edit.',
  },
  {
    id: 'admission.capacity',
    name: 'Capacity',
    kind: 'number',
    pendingWord: 'capacity',
    hint: 'Players in the world, at most the number of the profile. Empty for that number.',
  },
  { id: 'compute.group', name: 'Group', kind: 'choice', choices: groups, pendingWord: 'place' },
  { id: 'compute.region', name: 'Region', kind: 'choice', choices: regions, pendingWord: 'place' },
  {
    id: 'networking.strategy',
    name: 'Networking strategy',
    kind: 'choice',
    choices: strategies,
    pendingWord: 'networking strategy',
  },
  { id: 'networking.ports', name: 'Ports', kind: 'json', pendingWord: 'ports', hint: 'A JSON list of 1 to 8 ports.' },
]

/** The settings whose edits act at once. */
export const liveFields: readonly Field[] = [
  { id: 'name', name: 'Name', kind: 'text' },
  { id: 'description', name: 'Description', kind: 'long' },
  {
    id: 'runtime.durationMinutes',
    name: 'Duration',
    kind: 'number',
    hint: 'Minutes from the start of a run, also of the present one. Empty for no limit.',
  },
  {
    id: 'runtime.idleStopMinutes',
    name: 'Sleep after',
    kind: 'number',
    hint: 'Minutes without a player in the world, one who waits, or bots, after which a run ends, also the present one. The world needs a query or a server with probes. Empty for never.',
  },
  {
    id: 'runtime.wakeOnAccess',
    name: 'Wake',
    kind: 'choice',
    choices: wakes,
    absent: 'Never',
    hint: 'Access lets users who may enter the world wake it while it sleeps. With Never, only a start does.',
  },
  { id: 'admission.policy', name: 'Admission', kind: 'choice', choices: policies },
  { id: 'isPublic', name: 'Public', kind: 'flag', hint: 'Every caller sees the world while it is active.' },
  { id: 'metadata.labels', name: 'Labels', kind: 'pairs', hint: `key=value. ${quoting}` },
  { id: 'metadata.annotations', name: 'Annotations', kind: 'pairs', hint: `key=value. ${quoting}` },
  { id: 'pictureUrl', name: 'Picture', kind: 'text', hint: 'An absolute URL. Empty for none.' },
  { id: 'manifest.serverPermissions', name: 'Permissions of the server', kind: 'lines', hint: quoting },
  { id: 'manifest.clientPermissions', name: 'Permissions of clients', kind: 'lines', hint: quoting },
  { id: 'publicDownload.enabled', name: 'Download of the client', kind: 'flag' },
  { id: 'publicDownload.enforceAntiCheat', name: 'Download: anti-cheat', kind: 'flag' },
  { id: 'publicDownload.allowMac', name: 'Download: macOS', kind: 'flag' },
  { id: 'publicDownload.allowIos', name: 'Download: iOS', kind: 'flag' },
  { id: 'streaming', name: 'Streaming', kind: 'json', hint: 'Settings for streamed clients, as JSON.' },
]

/** The ids of the settings of a schedule that mean nothing without its times. */
export const [restartMinutes, scheduleZone] = [
  'runtime.schedule.restart.whenEmptyWithinMinutes',
  'runtime.schedule.timeZone',
] as const

/** The settings of the schedule. Their edits act at once, and times count from then. */
export const scheduleFields: readonly Field[] = [
  {
    id: 'runtime.schedule.start',
    name: 'Scheduled start',
    kind: 'cron',
    hint: 'Times as the five fields of cron, such as 0 18 * * FRI: minute, hour, day of the month, month and day of the week. A world that runs stays as it is. Empty for none.',
  },
  {
    id: 'runtime.schedule.stop',
    name: 'Scheduled stop',
    kind: 'cron',
    hint: 'Times as cron, such as 0 2 * * SAT. At the same time, a stop comes first and a restart last. Empty for none.',
  },
  {
    id: 'runtime.schedule.restart.at',
    name: 'Scheduled restart',
    kind: 'cron',
    hint: 'Times as cron, such as 0 5 * * *. A restart is a new run of a world that runs. Empty for none.',
  },
  {
    id: restartMinutes,
    name: 'Restart when empty within',
    kind: 'number',
    hint: 'Minutes for which a restart waits until nobody is in the world. Then, or at the next time of the schedule, it restarts anyway, unless that time is a stop. Empty for a restart at once.',
  },
  {
    id: scheduleZone,
    name: 'Time zone of the schedule',
    kind: 'timeZone',
    hint: 'A name of the IANA database, such as Europe/Berlin. Empty for UTC.',
  },
]

/** All settings, in the order of the page. */
export const fields: readonly Field[] = [...runFields, ...liveFields, ...scheduleFields]

/** Returns the first setting that an advice names, such as `compute`, or undefined. */
export const fieldOfAdvice = (advised: string): Field | undefined =>
  fields.find(({ id }) => id === advised || id.startsWith(`${advised}.`))
