/** The desired states of a world. */
export const worldStates = ['Running', 'Stopped'] as const
/** The phases of a world; docs/worlds.md lists every transition. */
export const worldPhases = ['Inactive', 'Starting', 'Active', 'Stopped', 'Error'] as const
/** The statuses of a deployment. */
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
/** The phases of a bot deployment. */
export const botPhases = ['Pending', 'Starting', 'Running', 'Stopping', 'Stopped', 'Error'] as const

/** The admission policies of a world. */
export const admissionPolicies = ['Open', 'Queued', 'Closed'] as const
/** The limits on concurrent sessions of a user or an organization in a world. */
export const controlPolicies = ['Unlimited', 'OnePerUser', 'OnePerOrganization'] as const
/** The kinds of compute that a world runs on. Group and region select a cluster. */
export const computeGroups = ['production', 'staging', 'development'] as const
/** The regions that a world runs in. Group and region select a cluster. */
export const computeRegions = ['Europe', 'NorthAmerica', 'AsiaPacific'] as const
/** The types of a world's Service. */
export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const
/**
 * The ways to expose a world's public ports. Default is the operator's setting; HostPort uses ports of the node; Route is a host name
 * of a Gateway for browsers.
 */
export const networkingStrategies = ['Default', 'HostPort', 'Route', ...serviceTypes] as const
/** The ways to choose the host port of a public port with the strategy HostPort. */
export const hostPortPolicies = ['Dynamic', 'Passthrough', 'Static'] as const
/** The protocols of a port of a world. TCPUDP means both. */
export const portProtocols = ['TCP', 'UDP', 'TCPUDP'] as const
/** The exposures of a port of a world: to players and bots, or to the operator alone. */
export const portExposures = ['Public', 'Internal'] as const
/** The protocols by which the operator asks a server for its players. */
export const queryProtocols = ['Http', 'A2S', 'MinecraftJava', 'MinecraftBedrock', 'SQP'] as const
/** The ways to open a streamed client. */
export const launchModes = ['same-tab', 'new-tab', 'embedded'] as const
/** The contents of a build. */
export const buildTypes = ['client', 'server'] as const

/** The kinds of document that clients subscribe to. */
export const documentTypes = ['kvStore', 'collection', 'liveConfig'] as const
/** The stores of key/value documents: one that clients write and one that world servers write. */
export const kvStores = ['kvstoreClient', 'kvstoreServer'] as const

export type WorldState = (typeof worldStates)[number]
export type WorldPhase = (typeof worldPhases)[number]
export type BotPhase = (typeof botPhases)[number]
export type DeploymentStatus = (typeof deploymentStatuses)[number]
export type DocumentType = (typeof documentTypes)[number]
