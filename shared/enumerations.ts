/** What a start and a stop ask for. */
export const worldStates = ['Running', 'Stopped'] as const
/** Where a world is in its life; see docs/worlds.md for every transition. */
export const worldPhases = ['Inactive', 'Starting', 'Active', 'Stopped', 'Error'] as const
/** Where one run of a world, its deployment, is in its life. */
export const deploymentStatuses = [
  'Unknown',
  'Pending',
  'Starting',
  'Running',
  'Restarting',
  'Stopping',
  'Stopped',
  'Error',
] as const
/** Where a bot deployment is in its life. */
export const botPhases = ['Pending', 'Starting', 'Running', 'Stopping', 'Stopped', 'Error'] as const

/** Who may enter a world. */
export const admissionPolicies = ['Open', 'Queued', 'Closed'] as const
/** How many sessions a user or an organization may hold in a world. */
export const controlPolicies = ['Unlimited', 'OnePerUser', 'OnePerOrganization'] as const
/** The kind of capacity that a world runs on; with the region it names a cluster. */
export const computeGroups = ['production', 'staging', 'development'] as const
/** Where a world runs; with the group it names a cluster. */
export const computeRegions = ['Europe', 'NorthAmerica', 'AsiaPacific'] as const
/** How players reach a world's game port; Default is the operator's setting. */
export const networkingStrategies = ['Default', 'ClusterIP', 'NodePort', 'LoadBalancer'] as const
/** How a streamed client opens. */
export const launchModes = ['same-tab', 'new-tab', 'embedded'] as const
/** What a build contains. */
export const buildTypes = ['client', 'server'] as const

/** The kinds of document that clients follow. */
export const documentTypes = ['kvStore', 'collection', 'liveConfig'] as const
/** Who writes a key/value document: its user's client, or a world server. */
export const kvStores = ['kvstoreClient', 'kvstoreServer'] as const

export type WorldState = (typeof worldStates)[number]
export type WorldPhase = (typeof worldPhases)[number]
export type BotPhase = (typeof botPhases)[number]
export type DeploymentStatus = (typeof deploymentStatuses)[number]
export type DocumentType = (typeof documentTypes)[number]
