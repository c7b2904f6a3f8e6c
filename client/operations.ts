// Generated from the API's OpenAPI document by `npm run client`; change the routes there.

export type ApiKey = {
  /** Identifier of the API key. */
  documentId: string
  /** Name for people. */
  displayName: string
  /** False if the key is switched off. */
  isActive: boolean
  /** True if the provisioner manages the key. Such a key cannot be changed. */
  isManagedByProvisioner: boolean
  /** Identifier of the organization. */
  organizationId: string
  /** Capabilities outside the permission tree, by name. True grants the claim. */
  claims: { [key: string]: boolean }
  /** Permissions of the form `<path>:<verb>`. */
  permissions: string[]
  /** The key string, masked unless the caller has `*` and all permissions and claims of the key. */
  keyString: string
  /** Time from which the key is refused. */
  expiresAt?: string
  /** Time of the last use, written at most once a minute. */
  lastUsedAt?: string
  /** Time until which the string before the last rotation stays valid. Absent if it is not valid any more. */
  previousValidUntil?: string
  /** The CIDR blocks from which the key may be used. */
  allowedNetworks?: string[]
}

export type AuditRecord = {
  /** Identifier of the audit record. */
  id: string
  /** Time of the change. */
  createdAt: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId?: string
  /** Origin of the change: REST, kubectl, the command orrery or the system. */
  door: 'rest' | 'kubectl' | 'cli' | 'system'
  /** Author of the change. */
  actor: AuditRecordActor
  /** The operationId of the request, or of the operation with the same effect. */
  action: string
  /** Ids of the path, then ids that the request created. */
  resources: string[]
  /** JSON Pointers of the fields that were given, without values. */
  fields: string[]
  /** The IP address of the client. */
  address?: string
  /** The X-Request-Id of the request. */
  requestId?: string
}

export type AuditRecordActor = {
  /** Kind of credential. */
  kind: 'platform' | 'key' | 'user' | 'manager' | 'command' | 'system'
  /** The id of the key or user, the field manager, the command, or `schedule`. */
  id?: string
}

export type BotDeployment = {
  /** Identifier of the bot deployment. */
  documentId: string
  /** Text that describes it to users. Empty if there is none. */
  description: string
  /** Settings of the bots. */
  configuration: BotDeploymentConfiguration
  /** Observed state. */
  status: BotDeploymentStatus
  /** Annotations and labels of the owner. */
  metadata: WorldMetadata
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Identifier of the world. */
  worldId: string
  /** Time of the creation. */
  createdAt: string
  /** Time of the last change of the desired state. */
  updatedAt: string
}

export type BotDeploymentConfiguration = {
  /** Desired number of bots. */
  count: number
  /** CPU limit of each bot. */
  cpu: string
  /** Memory limit of each bot. */
  memory: string
  /** Arguments to the entry point of the image. */
  args: string[]
  /** Minutes after which the bots are stopped. */
  durationMinutes?: number
}

export type BotDeploymentStatus = {
  /** Phase of the lifecycle. */
  phase: 'Pending' | 'Starting' | 'Running' | 'Stopping' | 'Stopped' | 'Error'
  /** Reason for waiting or failing. Empty if nothing needs attention. */
  message: string
  /** Milliseconds since 1970. */
  startedAt?: number
  /** Time when the run of the world was requested. */
  worldStartedAt?: string
  /** The cluster that runs the bots. */
  cluster: BotDeploymentStatusCluster
  /** Conditions of the bot deployment. Empty until the operator has reported. */
  conditions: Condition[]
}

export type BotDeploymentStatusCluster = {
  /** Name of the cluster. */
  name: string
  /** Kind of compute. */
  computeGroup: string
}

export type Build = {
  /** Identifier of the build. */
  id: string
  /** Identifier of the organization. */
  organizationId: string
  /** Channel of the build. */
  channelId: string
  /** Tag of the build in its channel. */
  tag: string
  /** Container image of the server. */
  image: string
  /** Identifier of the content that the image holds. */
  contentId: string
  /** Digest of the image. Without one the tag of the image decides. */
  digest?: string
  /** True if the image serves the probes of the server contract. */
  probes: boolean
  /** Time of the creation. */
  createdAt: string
}

export type BuildByContent = {
  /** The content that the image holds. */
  content: BuildReferenceContent
}

export type BuildByTag = {
  /** Channel of the build. */
  channelId: string
  /** Tag of the build in its channel. */
  tag: string
}

export type BuildReference = BuildByTag | BuildByContent

export type BuildReferenceContent = {
  /** Identifier of the content. */
  id: string
}

export type BulkAction = BulkActionByIds | BulkActionByFilter | BulkDeletionByFilter

export type BulkActionByFilter = {
  /** The action on each world. */
  action: 'start' | 'stop' | 'restart'
  /** Conditions as in the query of `listWorlds`. All must match. */
  filter: BulkActionFilter
  /** Number of worlds that the filter must match. A deletion by filter needs it; another number gets 409. */
  expectedCount?: number
}

export type BulkActionByIds = {
  /** The action on each world. */
  action: 'start' | 'stop' | 'restart' | 'delete'
  /** Identifiers of the worlds. */
  ids: string[]
}

export type BulkActionFilter = {
  /** Phases of the worlds. */
  phase?: Array<'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'>
  /** Scaling profiles of the worlds. */
  profile?: Array<'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'>
  /** Regions of the worlds. */
  region?: Array<'Europe' | 'NorthAmerica' | 'AsiaPacific'>
  /** The exact name of the worlds. */
  name?: string
  /** Text that the name or the description contains, in any case. */
  q?: string
  /** Labels that the worlds have: `key=value`, or `key` for any value. All must match. */
  label?: string[]
}

export type BulkDeletionByFilter = {
  /** The action on each world. */
  action: 'delete'
  /** Conditions as in the query of `listWorlds`. All must match. */
  filter: BulkActionFilter
  /** Number of worlds that the filter must match. A deletion by filter needs it; another number gets 409. */
  expectedCount: number
}

export type BulkResult = {
  /** One result for each world, in the order of the ids, or with the oldest world first. */
  results: BulkResultResult[]
}

export type BulkResultResult = {
  /** Identifier of the world. */
  worldId: string
  /** HTTP status that the action has for this world. */
  status: number
  /** Code of the problem. Absent after success. */
  code?: string
  /** An explanation for people. Absent after success. */
  detail?: string
}

export type Condition = {
  /** Ready: players can enter, or all bots run. Progressing: a change is under way. Degraded: something is wrong. LimitExceeded: more bots are wanted than the world allows. Responding: the server answers its query. Idle: Unknown if the world does not sleep because its players are unknown. Synced: False if an edit with kubectl was refused, or if a start with kubectl waits. */
  type: 'Ready' | 'Progressing' | 'Degraded' | 'LimitExceeded' | 'Responding' | 'Idle' | 'Synced'
  /** Status of the condition. */
  status: 'True' | 'False' | 'Unknown'
  /** Stable word for the status, for programs. */
  reason: string
  /** Details for people. Empty if there are none. */
  message: string
  /** Remedy, for people. Absent if none is needed. */
  remedy?: string
  /** Time when the status of the condition last changed. */
  lastTransitionAt: string
}

export type CreateApiKey = {
  /** Name for people. */
  displayName: string
  /** Capabilities outside the permission tree, by name. True grants the claim. */
  claims?: { [key: string]: boolean }
  /** False if the key is switched off. */
  isActive?: boolean
  /** Permissions of the form `<path>:<verb>`. */
  permissions?: string[]
  /** Time from which the key is refused, in the years 1970 to 9999 in UTC. */
  expiresAt?: string
  /** The CIDR blocks from which the key may be used. */
  allowedNetworks?: string[]
}

export type CreateBotDeployment = {
  /** Desired number of bots. */
  count: number
  /** Text that describes the bots to users. */
  description?: string
  /** CPU limit of each bot, above 0 and at most that of the scaling profile: cores, such as 1 or 0.5, or thousandths of a core, such as 250m. */
  cpu?: string
  /** Memory limit of each bot, above 0 and at most that of the scaling profile: bytes with an optional suffix, such as 128Mi. */
  memory?: string
  /** Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded. */
  args?: string[]
  /** Minutes from the start of the bots until they are stopped. If absent, they run as long as their world. */
  durationMinutes?: number
  /** Annotations and labels of the owner. */
  metadata?: CreateWorldMetadata
}

export type CreateOrganization = {
  /** Name for people. It does not have to be unique. */
  name: string
  /** Identifier of the featured event. Empty if there is none. */
  featuredEventId?: string
  /** Title and head of the website. */
  websiteInfo?: CreateOrganizationWebsiteInfo
  /** Feature flags of the organization. */
  features?: OrganizationFeatures
  /** Legal texts of the organization. */
  legalPolicies?: CreateOrganizationLegalPolicies
  /** True if the featured event is shown. */
  hasEventEnabled?: boolean
}

export type CreateOrganizationLegalPolicies = {
  /** Paragraphs of the terms of service. */
  termsOfService?: string[]
  /** Paragraphs of the privacy policy. */
  privacyPolicy?: string[]
  /** Paragraphs of the chat rules. */
  chatRules?: string[]
  /** Paragraphs of the privacy policy of partners. */
  partnerPrivacyPolicy?: string[]
  /** Paragraphs of the license agreement. */
  eula?: string[]
}

export type CreateOrganizationWebsiteInfo = {
  /** Title of the website. */
  title?: string
  /** HTML tags for the head of the website. */
  headTags?: string[]
}

export type CreateProject = {
  /** Name for people. It does not have to be unique. */
  name: string
}

export type CreateToken = {
  /** Lifetime of the token in minutes. */
  durationMinutes?: number
  /** Permissions of the form `<path>:<verb>`. */
  permissions?: string[]
}

export type CreateWebhook = {
  /** URL to which messages are posted: https, a host name with a public address, port 443 or from 1024. */
  url: string
  /** Types of events that are sent. An empty list selects all, also types that are added later. */
  events?: Array<'world.phase_changed' | 'bot_deployment.phase_changed' | 'api_key.created' | 'api_key.updated' | 'api_key.deleted'>
  /** False if no events are recorded and sent. */
  isActive?: boolean
}

export type CreateWorld = {
  /** The name that users see. It does not have to be unique. */
  name: string
  /** Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept. */
  transient: boolean
  /** Text that describes the world to users. */
  description?: string
  /** Absolute URI of the picture. An empty string removes it. */
  pictureUrl?: string
  /** Annotations and labels of the owner. */
  metadata?: CreateWorldMetadata
  /** Permissions in the world. */
  manifest?: CreateWorldManifest
  /** Rules for entering the world, and the number of users. */
  admission?: CreateWorldAdmission
  /** Rules for sessions of users. Only a create sets them. */
  sessions?: CreateWorldSessions
  /** The location of the server. */
  compute?: CreateWorldCompute
  /** Network access and size of the server. */
  networking?: CreateWorldNetworking
  /** Build and settings of the server. */
  runtime?: PatchWorldRuntime
  /** Settings for streamed clients. They are stored in the launch context. */
  streaming?: PatchWorldStreaming
}

export type CreateWorldAdmission = {
  /** Open lets users in, Queued lets them wait, Closed refuses them. */
  policy?: 'Open' | 'Queued' | 'Closed'
  /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
  capacity?: number
}

export type CreateWorldCompute = {
  /** Kind of compute to run on. Group and region select the cluster. */
  group?: 'production' | 'staging' | 'development'
  /** Region to run in. Group and region select the cluster. */
  region?: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
  /** Version of the compute. Orrery stores it and does not interpret it. */
  version?: string
}

export type CreateWorldManifest = {
  /** Permissions that the server gets. */
  serverPermissions?: string[]
  /** Permissions that clients of the world get. */
  clientPermissions?: string[]
}

export type CreateWorldMetadata = {
  /** Arbitrary notes of the owner. Orrery stores them and does not interpret them. */
  annotations?: { [key: string]: string }
  /** Arbitrary marks of the owner. Lists of worlds can be filtered by the labels of worlds. */
  labels?: { [key: string]: string }
}

export type CreateWorldNetworking = {
  /** Access to the public ports for players: a Service of type ClusterIP, NodePort or LoadBalancer, ports of the node, a host name of a Gateway for browsers, or the operator's default. */
  strategy?: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  /** Ports of the server. The address of the world is that of the first public port. */
  ports?: PatchWorldNetworkingPort[]
  /** Size of the server. */
  scaling?: CreateWorldNetworkingScaling
}

export type CreateWorldNetworkingScaling = {
  /** Scaling profile: the CPU, the memory and the capacity of the server. */
  profile?: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
  /** Always null. */
  configuration?: null
}

export type CreateWorldSessions = {
  /** Limit on concurrent sessions of a user or an organization. */
  controlPolicy?: 'Unlimited' | 'OnePerUser' | 'OnePerOrganization'
  /** Expression that a streaming ticket must satisfy. */
  streamingTicketPredicate?: string
  /** Flags for sessions. All are false by default. */
  flags?: CreateWorldSessionsFlags
  /** World to which every user is sent. Empty for none. */
  forceTravelWorldId?: string
}

export type CreateWorldSessionsFlags = {
  /** True if sessions do not expire. */
  ignoreExpiry?: boolean
  /** True if errors at the renewal of a slot are ignored. */
  ignoreSlotRenewalErrors?: boolean
  /** True if a session continues without its parent. */
  ignoreParentMissing?: boolean
  /** True if sessions begin without waiting. */
  useImmediateMode?: boolean
}

export type CreatedApiKey = {
  /** The key string. Later reads show it to callers that hold all permissions and claims of the key. */
  apiKey: string
}

export type CreatedOrganization = {
  /** Identifier of the organization. */
  organizationId: string
  /** Feature flags of the organization. */
  features: OrganizationFeatures
}

export type CreatedProject = {
  /** Identifier of the project. */
  projectId: string
}

export type CreatedToken = {
  /** Identifier of the token, with which it can be revoked. */
  tokenId: string
  /** The token for `Authorization: Bearer`. It is shown once. */
  accessToken: string
  /** Kind of credential: Bearer. */
  tokenType: 'Bearer'
  /** Time from which the token is refused. */
  expiresAt: string
}

export type CreatedWebhook = {
  /** Identifier of the webhook. */
  documentId: string
  /** Identifier of the organization. */
  organizationId: string
  /** URL to which messages are posted. */
  url: string
  /** Types of events that are sent. Empty for all. */
  events: Array<'world.phase_changed' | 'bot_deployment.phase_changed' | 'api_key.created' | 'api_key.updated' | 'api_key.deleted'>
  /** False if no events are recorded and sent. */
  isActive: boolean
  /** Time of the first failed attempt since the last success. Absent if the last attempt succeeded. */
  failingSince?: string
  /** Time when the system deactivated the webhook. */
  disabledAt?: string
  /** Reason why the system deactivated the webhook: Failing if nothing was delivered for too long, Gone if it answered 410, Backlog if too many deliveries were pending. */
  disabledReason?: 'Failing' | 'Gone' | 'Backlog'
  /** Time of the creation. */
  createdAt: string
  /** Time of the last change of the webhook. */
  updatedAt: string
  /** The signing secret. No later response contains it. */
  secret: string
}

export type CreatedWorld = {
  /** Identifier of the world. */
  worldId: string
  /** Identifier of the launch context. */
  launchContextId: string
}

export type CurrentCredential = {
  /** Kind of credential: the platform key, an API key or a user's token. */
  kind: 'platform' | 'key' | 'user'
  /** Identifier of the API key, subject of the token, or `platform`. */
  id: string
  /** Name of the API key, for people. Absent for other kinds. */
  name?: string
  /** Organization of the credential. Absent for the platform key. */
  organizationId?: string
  /** Permissions that the credential has now. `*` is full access. */
  permissions: string[]
  /** Capabilities outside the permission tree, by name. True grants the claim. */
  claims: { [key: string]: boolean }
  /** Time from which the credential is refused. Absent if it does not expire. */
  expiresAt?: string
}

export type DeletedWorld = {
  /** Identifier of the world. */
  documentId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Time of the deletion. */
  deletedAt: string
  /** The time from which the world is erased. */
  purgeAt: string
  /** False while the resource of the world still exists. */
  isRestorable: boolean
}

export type Document = {
  /** The user that the document belongs to, or the id of the key that wrote it. */
  userId: string
  /** Type and identifier of the document. */
  resource: DocumentResource
  /** The content of the document. */
  data: { [key: string]: unknown }
  /** Time of the change. It never decreases. */
  version: string
}

export type DocumentResource = {
  /** Type of the document. */
  type: 'kvStore' | 'collection' | 'liveConfig'
  /** Identifier of the document. */
  id: string
}

export type Event = {
  /** Identifier of the event. */
  id: string
  /** Time when the API recorded the event. */
  createdAt: string
  /** Normal, or Warning if it needs attention. */
  type: 'Normal' | 'Warning'
  /** Stable word for what happened, for programs. */
  reason: string
  /** Description of the event, for people. */
  message: string
  /** Remedy, for people. Absent if none is needed. */
  remedy?: string
  /** Identifier of the run that the event belongs to. */
  runId?: string
}

export type Groups = {
  /** The group mappings. Members of several groups get the permissions of all. */
  groups: GroupsGroup[]
}

export type GroupsGroup = {
  /** The issuer of the tokens: their claim `iss`. */
  issuer: string
  /** The name of the group, as tokens contain it. */
  group: string
  /** The permissions of the members, within the organization. */
  permissions: string[]
}

export type JsonWebKeySet = {
  /** The public keys. */
  keys: JsonWebKeySetKey[]
}

export type JsonWebKeySetKey = {
  /** Type of the key. */
  kty: string
  /** Identifier of the key. */
  kid: string
  /** Algorithm of the key. */
  alg: string
  /** Use of the key: sig. */
  use: string
  [key: string]: unknown
}

export type LaunchContext = {
  /** Availability of the client for download, by platform. */
  publicDownload: PatchWorldPublicDownload
  /** URL to which a failed entry leads. */
  errorPageUrl: string
  /** URL to which a successful session leads at its end. */
  okPageUrl: string
  /** Settings of the streaming provider A. */
  providerAStreaming?: LaunchContextProviderAStreaming
  /** Settings of the streaming provider B. */
  providerBStreaming?: LaunchContextProviderBStreaming
  /** Settings of the stream manager. */
  streamManager?: LaunchContextStreamManager
  /** True if browsers that are not supported may enter. */
  bypassBrowserRestrictions: boolean
  /** True if `admission.policy` is Queued. */
  enableQueue: boolean
  /** Maximum number of users in the world. */
  capacity: number
  /** Copy of the channel and tag of the build. */
  buildInfo?: LaunchContextBuildInfo
  /** Identifier of the launch context. */
  launchContextId: string
  /** Identifier of the world. */
  worldId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Text that describes it to users. Empty if there is none. */
  description: string
  /** URL of the splash screen. Always empty. */
  splashScreenUrl: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** False if the entry is switched off. */
  isActive: boolean
  /** True if every caller sees the world while it is Active. */
  isPublic: boolean
  /** True if users enter from other worlds only. */
  isWorldTravelOnly: boolean
  /** True if entries create sessions of the world. */
  useWorldSessions: boolean
  /** The strongest verb of the caller on the resource: r, w or *. */
  permissionVerb: 'r' | 'w' | '*'
}

export type LaunchContextBuildInfo = {
  /** Channel of the build. */
  buildChannelId: string
  /** Tag of the build. */
  buildTag: string
  /** Kind of build. */
  buildType: 'client' | 'server'
}

export type LaunchContextProviderAStreaming = {
  /** Identifier of the content at the provider. */
  cmsId: string
  /** Identifier of the authorization at the provider. */
  authorizationId: string
  /** Way to open the streamed client. */
  launchMode: 'same-tab' | 'new-tab' | 'embedded'
}

export type LaunchContextProviderBStreaming = {
  /** Label of the game at the provider. */
  gameLabel: string
  /** Channel of the game at the provider. */
  gameChannel: string
}

export type LaunchContextStreamManager = {
  /** Identifier of the stream context. */
  streamContextId: string
  /** True if a link may choose the streaming provider. */
  allowForceProvider: boolean
  /** True if users can choose the streaming provider. */
  showProviderOptions: boolean
  /** True if the stream uses the version of the build. */
  useBuildVersion: boolean
}

export type Limits = {
  /** Maximum number of worlds. */
  maxWorlds: number
  /** Maximum estimatedCapacity of one world. */
  maxWorldCapacity: number
  /** Maximum sum of the capacities of runs that have not ended. */
  maxRunningCapacity: number
  /** Maximum number of node ports of running worlds. Each protocol of each public port counts as one. */
  maxNodePorts: number
  /** Maximum number of load balancers of running worlds. */
  maxLoadBalancers: number
  /** Permits worlds to use the networking strategy HostPort. */
  hostPorts: boolean
  /** Maximum number of bot deployments. */
  maxBotDeployments: number
  /** Maximum cpu of all bots together, in cores, rounded to 0.001: the sum of their limits. */
  maxBotCpu: number
  /** Maximum memory of all bots together, in bytes: the sum of their limits. */
  maxBotMemory: number
  /** Registries whose images servers may run, such as ghcr.io/acme; * allows every registry. */
  imageRegistries: string[]
  /** Names of Secrets in the organization's namespace with which images are pulled. */
  imagePullSecrets: string[]
  /** Maximum number of API keys. */
  maxApiKeys: number
  /** Maximum number of webhooks. */
  maxWebhooks: number
  /** Maximum number of documents. */
  maxDocuments: number
  /** Maximum size of the data of all documents, in bytes as stored. */
  maxDocumentBytes: number
  /** Maximum bytes per second of the documents that are written to one replica of the API, averaged over a minute. */
  maxDocumentBytesPerSecond: number
  /** Maximum number of realtime connections to one replica of the API. */
  maxConnections: number
  /** Maximum requests per second to one replica of the API, averaged over 10 s. */
  maxRequestsPerSecond: number
}

export type Organization = {
  /** Identifier of the organization. */
  documentId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** A label that the tenant chooses. It is not unique; organizationId identifies the organization. */
  tenantId: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Identifier of the featured event. Empty if there is none. */
  featuredEventId: string
  /** Title and head of the website. */
  websiteInfo: OrganizationWebsiteInfo
  /** Feature flags of the organization. */
  features: OrganizationFeatures
  /** Legal texts of the organization. */
  legalPolicies: OrganizationLegalPolicies
  /** True if the featured event is shown. */
  hasEventEnabled: boolean
  /** Time of the creation. */
  createdAt: string
  /** The strongest verb of the caller on the resource: r, w or *. */
  permissionVerb: 'r' | 'w' | '*'
  /** Always false. */
  isSlot: boolean
  /** The `runtime.idleStopMinutes` of worlds that are created without one. */
  idleStopMinutes?: number
}

export type OrganizationFeatures = {
  /** Text below the login panel. */
  loginPanelDisclaimer?: string
  /** True if users can upload a picture. */
  profilePictureUpload?: boolean
  /** True if the website has a profile page. */
  hasProfilePage?: boolean
  /** True if the website has a page of collections. */
  hasCollectionsPage?: boolean
  /** True if the website has a navigation menu. */
  hasNavigationMenu?: boolean
  /** True if users without an account can read the chat. */
  allowPublicReadableChat?: boolean
  /** Ways to log in. */
  loginOptions?: OrganizationFeaturesLoginOptions
  /** True if users can manage their own tokens. */
  allowUserTokenManagement?: boolean
  /** Settings of the message service of the website. */
  pubsub?: OrganizationFeaturesPubsub
  /** Rules for user names. */
  usernameCustomization?: OrganizationFeaturesUsernameCustomization
  /** True if the native iOS client is supported. */
  iosNativeClientSupport?: boolean
  /** True if downloads need a signed URL. */
  useSignedContentDownloads?: boolean
  /** URL of the customer portal. */
  customerConnectUrl?: string
}

export type OrganizationFeaturesLoginOptions = {
  /** True if users can log in by email. */
  hasEmail?: boolean
  /** True if users can log in with wallet A. */
  hasWalletA?: boolean
  /** True if users can log in with wallet B. */
  hasWalletB?: boolean
  /** True if users can log in with wallet C. */
  hasWalletC?: boolean
  /** True if users can log in by an identity provider. */
  hasIdentityProvider?: boolean
}

export type OrganizationFeaturesPubsub = {
  /** Key for publishing. */
  publishKey?: string
  /** Key for subscribing. */
  subscribeKey?: string
  /** Channels that every user joins. */
  defaultChannels?: OrganizationFeaturesPubsubDefaultChannel[]
}

export type OrganizationFeaturesPubsubDefaultChannel = {
  /** True if users can read the channel. */
  read: boolean
  /** True if users can write to the channel. */
  write: boolean
  /** Type of the channel. */
  type: string
}

export type OrganizationFeaturesUsernameCustomization = {
  /** True if user names are unique. */
  unique?: boolean
  /** Regular expression (RE2) that user names match. */
  pattern?: string
}

export type OrganizationLegalPolicies = {
  /** Paragraphs of the terms of service. */
  termsOfService: string[]
  /** Paragraphs of the privacy policy. */
  privacyPolicy: string[]
  /** Paragraphs of the chat rules. */
  chatRules: string[]
  /** Paragraphs of the privacy policy of partners. */
  partnerPrivacyPolicy: string[]
  /** Paragraphs of the license agreement. */
  eula: string[]
}

export type OrganizationWebsiteInfo = {
  /** Title of the website. */
  title: string
  /** HTML tags for the head of the website. */
  headTags: string[]
}

export type PatchApiKey = {
  /** Name for people. */
  displayName?: string
  /** Capabilities outside the permission tree, by name. True grants the claim. */
  claims?: { [key: string]: boolean }
  /** False if the key is switched off. */
  isActive?: boolean
  /** Permissions of the form `<path>:<verb>`. */
  permissions?: string[]
  /** Time from which the key is refused. `null` removes it. */
  expiresAt?: string | null
  /** The CIDR blocks from which the key may be used. `null` removes the restriction. */
  allowedNetworks?: string[] | null
}

export type PatchBotDeployment = {
  /** Desired number of bots. */
  count: number
  /** CPU limit of each bot, above 0 and at most that of the scaling profile: cores, such as 1 or 0.5, or thousandths of a core, such as 250m. */
  cpu?: string
  /** Memory limit of each bot, above 0 and at most that of the scaling profile: bytes with an optional suffix, such as 128Mi. */
  memory?: string
  /** Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded. */
  args?: string[]
  /** Minutes from the start of the bots until they are stopped. If absent, they run as long as their world. */
  durationMinutes?: number
  /** Annotations and labels of the owner. */
  metadata?: PatchWorldMetadata
}

export type PatchLimits = {
  /** Maximum number of worlds. */
  maxWorlds?: number
  /** Maximum estimatedCapacity of one world. */
  maxWorldCapacity?: number
  /** Maximum sum of the capacities of runs that have not ended. */
  maxRunningCapacity?: number
  /** Maximum number of node ports of running worlds. Each protocol of each public port counts as one. */
  maxNodePorts?: number
  /** Maximum number of load balancers of running worlds. */
  maxLoadBalancers?: number
  /** Permits worlds to use the networking strategy HostPort. */
  hostPorts?: boolean
  /** Maximum number of bot deployments. */
  maxBotDeployments?: number
  /** Maximum cpu of all bots together, in cores, rounded to 0.001: the sum of their limits. */
  maxBotCpu?: number
  /** Maximum memory of all bots together, in bytes: the sum of their limits. */
  maxBotMemory?: number
  /** Registries whose images servers may run, such as ghcr.io/acme; * allows every registry. */
  imageRegistries?: string[]
  /** Names of Secrets in the organization's namespace with which images are pulled. */
  imagePullSecrets?: string[]
  /** Maximum number of API keys. */
  maxApiKeys?: number
  /** Maximum number of webhooks. */
  maxWebhooks?: number
  /** Maximum number of documents. */
  maxDocuments?: number
  /** Maximum size of the data of all documents, in bytes as stored. */
  maxDocumentBytes?: number
  /** Maximum bytes per second of the documents that are written to one replica of the API, averaged over a minute. */
  maxDocumentBytesPerSecond?: number
  /** Maximum number of realtime connections to one replica of the API. */
  maxConnections?: number
  /** Maximum requests per second to one replica of the API, averaged over 10 s. */
  maxRequestsPerSecond?: number
}

export type PatchOrganization = {
  /** Name for people. It does not have to be unique. */
  name?: string
  /** A label that the tenant chooses. It is not unique; organizationId identifies the organization. */
  tenantId?: string
  /** Identifier of the featured event. Empty if there is none. */
  featuredEventId?: string
  /** Feature flags of the organization. */
  features?: OrganizationFeatures
  /** The `runtime.idleStopMinutes` of worlds that are created without one. Null removes it. */
  idleStopMinutes?: number | null
}

export type PatchProject = {
  /** Identifier of the project. */
  documentId?: string
  /** Name for people. It does not have to be unique. */
  name?: string
}

export type PatchWebhook = {
  /** URL to which messages are posted: https, a host name with a public address, port 443 or from 1024. */
  url?: string
  /** Types of events that are sent. An empty list selects all, also types that are added later. */
  events?: Array<'world.phase_changed' | 'bot_deployment.phase_changed' | 'api_key.created' | 'api_key.updated' | 'api_key.deleted'>
  /** False if no events are recorded and sent. */
  isActive?: boolean
}

export type PatchWorld = {
  /** The name that users see. It does not have to be unique. */
  name?: string
  /** Text that describes the world to users. */
  description?: string
  /** Absolute URI of the picture. An empty string removes it. */
  pictureUrl?: string
  /** True if every caller sees the world while it is Active. */
  isPublic?: boolean
  /** Annotations and labels of the owner. */
  metadata?: PatchWorldMetadata
  /** Permissions in the world. */
  manifest?: PatchWorldManifest
  /** Rules for entering the world, and the number of users. */
  admission?: PatchWorldAdmission
  /** The location of the server. */
  compute?: PatchWorldCompute
  /** Network access and size of the server. */
  networking?: PatchWorldNetworking
  /** Build and settings of the server. */
  runtime?: PatchWorldRuntime
  /** Settings for streamed clients. They are stored in the launch context. */
  streaming?: PatchWorldStreaming
  /** Availability of the client for download, by platform. */
  publicDownload?: PatchWorldPublicDownload
}

export type PatchWorldAdmission = {
  /** Open lets users in, Queued lets them wait, Closed refuses them. */
  policy: 'Open' | 'Queued' | 'Closed'
  /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
  capacity?: number
}

export type PatchWorldCompute = {
  /** Kind of compute to run on. Group and region select the cluster. */
  group: 'production' | 'staging' | 'development'
  /** Region to run in. Group and region select the cluster. */
  region: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
  /** Version of the compute. Orrery stores it and does not interpret it. */
  version?: string
}

export type PatchWorldManifest = {
  /** Permissions that the server gets. */
  serverPermissions: string[]
  /** Permissions that clients of the world get. */
  clientPermissions: string[]
}

export type PatchWorldMetadata = {
  /** Arbitrary notes of the owner. Orrery stores them and does not interpret them. */
  annotations: { [key: string]: string }
  /** Arbitrary marks of the owner. Lists of worlds can be filtered by the labels of worlds. */
  labels: { [key: string]: string }
}

export type PatchWorldNetworking = {
  /** Access to the public ports for players: a Service of type ClusterIP, NodePort or LoadBalancer, ports of the node, a host name of a Gateway for browsers, or the operator's default. */
  strategy: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  /** Ports of the server. The address of the world is that of the first public port. */
  ports?: PatchWorldNetworkingPort[]
  /** Size of the server. */
  scaling: PatchWorldNetworkingScaling
}

export type PatchWorldNetworkingPort = {
  /** Name of the port. It is unique in the world. The server gets the number in ORRERY_PORT_<NAME>, in upper case and with _ for -. */
  name: string
  /** Port that the server listens on. It must not be 8080, the port of /readyz and /healthz. */
  containerPort: number
  /** Protocol of the port. TCPUDP means both. */
  protocol?: 'TCP' | 'UDP' | 'TCPUDP'
  /** Public opens the port to players and bots, Internal to the operator alone. */
  expose?: 'Public' | 'Internal'
  /** Choice of the host port with the strategy HostPort. Dynamic takes a port of a range. Passthrough does too, and the server must listen on that port instead of containerPort. Static takes hostPort. If absent, it is Dynamic. */
  policy?: 'Dynamic' | 'Passthrough' | 'Static'
  /** Name of the platform's range for Dynamic and Passthrough. If absent, it is default. */
  range?: string
  /** Host port of the policy Static: one of the platform's static ports. */
  hostPort?: number
}

export type PatchWorldNetworkingScaling = {
  /** Scaling profile: the CPU, the memory and the capacity of the server. */
  profile: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
  /** Always null. */
  configuration?: null
}

export type PatchWorldPublicDownload = {
  /** True if the client can be downloaded. */
  enabled: boolean
  /** True if the downloaded client must use the anti-cheat. */
  enforceAntiCheat: boolean
  /** True if the client can be downloaded for macOS. */
  allowMac: boolean
  /** True if the client can be downloaded for iOS. */
  allowIos: boolean
}

export type PatchWorldRuntime = {
  /** The build to run: a channel and tag, or a content. Without one the default image runs. */
  build?: BuildReference
  /** Name of the map that the server loads. */
  mapName?: string
  /** Protocol by which the operator asks the server for its players. If absent, it is GET /readyz, and none if probes is false. With a protocol other than Http, the server has no probes, and is Ready once it has answered. */
  query?: PatchWorldRuntimeQuery
  /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
  durationMinutes?: number
  /** Minutes without players after which a run ends: no player in the world, none who waits, and no bots. The world then sleeps until it is started or woken. If absent, it does not sleep. */
  idleStopMinutes?: number
  /** Access lets users who may enter the world wake it while it sleeps, by the access check or by a wake. If absent, it is Never. */
  wakeOnAccess?: 'Never' | 'Access'
  /** Times at which the API starts, stops and restarts the world. Of actions at the same time, the stop comes first and the restart last. */
  schedule?: PatchWorldRuntimeSchedule
  /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
  capacity?: number
  /** Copy of `admission.policy`. */
  admissionPolicy?: 'Open' | 'Queued' | 'Closed'
}

export type PatchWorldRuntimeQuery = {
  /** Http is GET /readyz, A2S the protocol of Valve, MinecraftJava the server list ping, MinecraftBedrock the unconnected ping of RakNet, SQP the server query protocol of Unity. */
  protocol?: 'Http' | 'A2S' | 'MinecraftJava' | 'MinecraftBedrock' | 'SQP'
  /** Port that answers: 8080 over TCP, or the containerPort of a port in networking.ports. If absent, it is 8080 with Http, and otherwise the first public port with the transport of the protocol. */
  port?: number
  /** Seconds until a request without an answer has failed. */
  timeoutSeconds?: number
}

export type PatchWorldRuntimeSchedule = {
  /** Time zone of the times, by its name in the IANA database. */
  timeZone?: string
  /** Times of starts, as the five fields of cron. A world that runs stays as it is. */
  start?: string
  /** Times of stops, as the five fields of cron. */
  stop?: string
  /** Restarts of the world while it runs. A restart is a new run. */
  restart?: WorldRuntimeScheduleRestart
}

export type PatchWorldStreaming = {
  /** Settings of the streaming provider A. */
  providerA?: PatchWorldStreamingProviderA
  /** Settings of the stream manager. */
  streamManager?: PatchWorldStreamingStreamManager
  /** Settings of the streaming provider B. */
  providerB?: PatchWorldStreamingProviderB
  /** True if browsers that are not supported may enter. */
  bypassBrowserRestrictions?: boolean
  /** URL to which a successful session leads at its end. */
  okPageUrl?: string
  /** URL to which a failed entry leads. */
  errorPageUrl?: string
}

export type PatchWorldStreamingProviderA = {
  /** Identifier of the content at the provider. */
  cmsId?: string
  /** Identifier of the authorization at the provider. */
  authorizationId?: string
  /** Way to open the streamed client. */
  launchMode?: 'same-tab' | 'new-tab' | 'embedded'
}

export type PatchWorldStreamingProviderB = {
  /** Label of the game at the provider. */
  gameLabel?: string
  /** Channel of the game at the provider. */
  gameChannel?: string
}

export type PatchWorldStreamingStreamManager = {
  /** Identifier of the stream context. */
  streamContextId?: string
  /** True if a link may choose the streaming provider. */
  allowForceProvider?: boolean
  /** True if users can choose the streaming provider. */
  showProviderOptions?: boolean
  /** True if the stream uses the version of the build. */
  useBuildVersion?: boolean
}

export type PatchedProject = {
  /** Identifier of the project. */
  documentId: string
  /** Name for people. It does not have to be unique. */
  name: string
}

export type PlatformAuditRecord = {
  /** Identifier of the audit record. */
  id: string
  /** Time of the change. */
  createdAt: string
  /** Origin of the change: REST, kubectl, the command orrery or the system. */
  door: 'rest' | 'kubectl' | 'cli' | 'system'
  /** Author of the change. */
  actor: AuditRecordActor
  /** The operationId of the request, or of the operation with the same effect. */
  action: string
  /** Ids of the path, then ids that the request created. */
  resources: string[]
}

export type PortAddress = {
  /** Name of the port in `networking.ports`. */
  name: string
  /** Protocol of the port. TCPUDP means both. */
  protocol: 'TCP' | 'UDP' | 'TCPUDP'
  /** IP address or host name. */
  host: string
  /** Port number. */
  port: number
  /** WebSocket URL of the port. Present with the strategy `Route`. */
  url?: string
}

/** An error (RFC 9457). `code` is stable and meant for programs; `errors` lists the validation errors. */
export type Problem = {
  /** URI of the kind of problem: `/problems/<code>`. */
  type: string
  /** Short text for the code. */
  title: string
  /** HTTP status. */
  status: number
  /** Description of the problem in this request, for people. */
  detail: string
  /** Stable code of the problem, for programs. */
  code: string
  /** Identifier of the request in the log. */
  requestId: string
  /** The validation errors, at most 32. */
  errors?: ProblemError[]
}

export type ProblemError = {
  /** JSON Pointer (RFC 6901) into the body, or the name of a header or parameter. */
  path: string
  /** Description of the validation error, for people. */
  message: string
}

export type Project = {
  /** Identifier of the project. */
  documentId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Identifier of the project. */
  projectId: string
  /** The strongest verb of the caller on the resource: r, w or *. */
  permissionVerb: 'r' | 'w' | '*'
}

export type PublicLaunchContext = {
  /** Availability of the client for download, by platform. */
  publicDownload: PatchWorldPublicDownload
  /** URL to which a failed entry leads. */
  errorPageUrl: string
  /** URL to which a successful session leads at its end. */
  okPageUrl: string
  /** Settings of the streaming provider A. */
  providerAStreaming?: PublicLaunchContextProviderAStreaming
  /** Settings of the streaming provider B. */
  providerBStreaming?: LaunchContextProviderBStreaming
  /** Settings of the stream manager. */
  streamManager?: LaunchContextStreamManager
  /** True if browsers that are not supported may enter. */
  bypassBrowserRestrictions: boolean
  /** True if `admission.policy` is Queued. */
  enableQueue: boolean
  /** Maximum number of users in the world. */
  capacity: number
  /** Copy of the channel and tag of the build. */
  buildInfo?: LaunchContextBuildInfo
  /** Identifier of the launch context. */
  launchContextId: string
  /** Identifier of the world. */
  worldId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Text that describes it to users. Empty if there is none. */
  description: string
  /** URL of the splash screen. Always empty. */
  splashScreenUrl: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** False if the entry is switched off. */
  isActive: boolean
  /** True if every caller sees the world while it is Active. */
  isPublic: boolean
  /** True if users enter from other worlds only. */
  isWorldTravelOnly: boolean
  /** True if entries create sessions of the world. */
  useWorldSessions: boolean
  /** The strongest verb of the caller on the resource: r, w or *. */
  permissionVerb: 'r' | 'w' | '*'
}

export type PublicLaunchContextProviderAStreaming = {
  /** Identifier of the content at the provider. */
  cmsId: string
  /** Way to open the streamed client. */
  launchMode: 'same-tab' | 'new-tab' | 'embedded'
}

export type PublicOrganization = {
  /** Identifier of the organization. */
  organizationId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** A label that the tenant chooses. It is not unique; organizationId identifies the organization. */
  tenantId: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Identifier of the featured event. Empty if there is none. */
  featuredEventId: string
  /** Title and head of the website. */
  websiteInfo: OrganizationWebsiteInfo
  /** Feature flags of the organization. */
  features: OrganizationFeatures
  /** Legal texts of the organization. */
  legalPolicies: OrganizationLegalPolicies
  /** True if the featured event is shown. */
  hasEventEnabled: boolean
  /** The login providers that the platform offers. */
  supportedProviders: PublicOrganizationSupportedProviders
}

export type PublicOrganizationSupportedProviders = {
  /** True if users can log in with provider A. */
  providerA: boolean
  /** True if users can log in with provider B. */
  providerB: boolean
  /** True if users can log in with provider C. */
  providerC: boolean
  /** True if users can log in with provider D. */
  providerD: boolean
}

export type PublicWorld = {
  /** Identifier of the world. */
  documentId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Text that describes it to users. Empty if there is none. */
  description: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept. */
  transient: boolean
  /** Annotations and labels of the owner. */
  metadata: WorldMetadata
  /** The location of the server. */
  compute: WorldCompute
  /** Network access and size of the server. */
  networking: WorldNetworking
  /** Build and settings of the server. */
  runtime: PublicWorldRuntime
  /** Rules for entering the world, and the number of users. */
  admission: WorldAdmission
  /** Rules for sessions of users. Only a create sets them. */
  sessions: WorldSessions
  /** Observed state. */
  status: PublicWorldStatus
  /** Settings for entering the world. */
  launchContext: PublicLaunchContext
  /** Users in the world and in its queue, as its server last reported. */
  queueState: WorldQueueState
  /** Time of the creation. */
  createdAt: string
  /** Time of the last change of the desired state. */
  updatedAt: string
}

export type PublicWorldRuntime = {
  /** The build to run: a channel and tag, or a content. Without one the default image runs. */
  build?: BuildReference
  /** Name of the map that the server loads. */
  mapName: string
  /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
  durationMinutes?: number
  /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
  capacity?: number
  /** Copy of `admission.policy`. */
  admissionPolicy?: 'Open' | 'Queued' | 'Closed'
}

export type PublicWorldStatus = {
  /** Phase of the lifecycle. */
  phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
  /** Reason for waiting or failing. Empty if nothing needs attention. */
  message: string
  /** Time when the run was requested. Its duration counts from here. */
  startedAt?: string
  /** The build of the run, fixed at its start. */
  resolvedBuild?: WorldStatusResolvedBuild
  /** Identifier of the run. */
  runId?: string
  /** Address of the first public port for players. Absent while no server can be reached. */
  address?: WorldStatusAddress
  /** Addresses of all public ports, in their order. Absent while no server can be reached. */
  addresses?: PortAddress[]
  /** Networking strategy of the run. Default means the address of the pod. */
  strategy?: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  /** Conditions of the world. Empty until the operator has reported. */
  conditions: Condition[]
}

export type PutBuild = {
  /** Container image of the server. */
  image: string
  /** Identifier of the content that the image holds. */
  contentId: string
  /** Digest of the image. Without one the tag of the image decides. */
  digest?: string
  /** True if the image serves the probes of the server contract. */
  probes?: boolean
}

export type PutCollection = {
  /** The content of the document. */
  data: PutCollectionData
  /** The user that the document belongs to, or the id of the key that wrote it. */
  userId?: string
}

export type PutCollectionData = {
  /** The user that the collection belongs to. */
  userId: string
  /** Identifier of the source of the collection. */
  datasourceId: string
  /** The items: any JSON values. */
  userCollection: unknown[]
}

export type PutKvStore = {
  /** The content of the document. */
  data: PutKvStoreData
  /** The user that the document belongs to, or the id of the key that wrote it. */
  userId?: string
}

export type PutKvStoreData = {
  /** Key of the entry. */
  key: string
  /** Store of the entry: kvstoreServer is written by world servers only. */
  store: 'kvstoreClient' | 'kvstoreServer'
  /** Value of the entry: any JSON value. */
  data: unknown
}

export type PutLiveConfig = {
  /** The content of the document. */
  data: PutLiveConfigData
  /** The user that the document belongs to, or the id of the key that wrote it. */
  userId?: string
}

export type PutLiveConfigData = {
  /** Identifier of the configuration. */
  id: string
  /** The configuration: any JSON object. */
  config: { [key: string]: unknown }
}

export type RealtimeTicket = {
  /** The ticket for the header x-realtime-ticket of one handshake. It is shown once. */
  ticket: string
  /** Time from which the ticket is refused. */
  expiresAt: string
}

export type RotateApiKey = {
  /** The time for which the replaced string stays valid, in seconds. */
  overlapSeconds?: number
}

export type RotateWebhook = {
  /** The time for which messages are signed with the replaced secret too, in seconds. */
  overlapSeconds?: number
}

export type RotatedApiKey = {
  /** The key string. Later reads show it to callers that hold all permissions and claims of the key. */
  apiKey: string
  /** Time until which the replaced string stays valid. */
  previousValidUntil: string
}

export type RotatedWebhook = {
  /** The signing secret. No later response contains it. */
  secret: string
  /** Time until which messages have both signatures. */
  previousValidUntil: string
}

export type ScalingProfile = {
  /** Name of the profile. */
  name: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
  /** Number of users that the profile is designed for. */
  estimatedCapacity: number
  /** Maximum number of bots in the world. */
  maxBotsPerWorld: number
  /** Resources of the profile. */
  resourceConfiguration: ScalingProfileResourceConfiguration
}

export type ScalingProfileResourceConfiguration = {
  /** Resources of the server. */
  server: ScalingProfileResourceConfigurationServer
}

export type ScalingProfileResourceConfigurationServer = {
  /** Memory limit of the server. */
  memoryLimit: string
}

export type SignInAddress = {
  /** The address of the issuer to which the browser goes. */
  url: string
}

export type SignInCode = {
  /** The issuer, as `listSignInIssuers` names it. */
  issuer: string
  /** The address of the console, with the query `?issuer=<id>` of the issuer. */
  redirectUri: string
  /** The code that the issuer sent with the browser. */
  code: string
  /** The code verifier of the challenge. */
  codeVerifier: string
  /** The nonce of the request. */
  nonce: string
  /** The issuer in the address of the browser (RFC 9207). Required if the issuer sends it. */
  iss?: string
}

export type SignInIssuers = {
  /** The issuers with which people can sign in to the console. */
  issuers: SignInIssuersIssuer[]
}

export type SignInIssuersIssuer = {
  /** The id of the issuer in its redirect URIs. */
  id: string
  /** The issuer of the tokens. */
  issuer: string
  /** Name for the button. */
  name: string
}

export type SignInRefresh = {
  /** The issuer, as `listSignInIssuers` names it. */
  issuer: string
  /** The refresh token of the last answer. */
  refreshToken: string
}

export type SignInRequest = {
  /** The issuer, as `listSignInIssuers` names it. */
  issuer: string
  /** The address of the console, with the query `?issuer=<id>` of the issuer. */
  redirectUri: string
  /** The state that the browser expects back (RFC 6749, section 10.12). */
  state: string
  /** The nonce that an ID token must name (OpenID Connect Core 1.0, section 3.1.2.1). */
  nonce: string
  /** The challenge of the code verifier, with the method S256 (RFC 7636). */
  codeChallenge: string
}

export type SignInToken = {
  /** The token for the header Authorization: Bearer. */
  accessToken: string
  /** Time from which the token is refused. */
  expiresAt: string
  /** The token that gets the next one: a new one, or the last one. Absent if the issuer gives none. */
  refreshToken?: string
}

export type SyncStatus = {
  /** The clusters that the API has been connected to. */
  clusters: SyncStatusCluster[]
  /** The rows with changes to push, including those of clusters that the API has never been connected to. */
  dirtyRows: SyncStatusClusterDirtyRows
  /** Number of findings of each type. */
  counts: SyncStatusCounts
  /** A page of the findings, oldest first. */
  findings: SyncStatusFinding[]
}

export type SyncStatusCluster = {
  /** Name of the cluster. */
  name: string
  /** State of the cluster. The API pushes to the cluster and pulls from it only in the state Accepted. */
  state: 'Accepted' | 'AnotherCluster' | 'RestoredCluster'
  /** The reason of a refusal and what to do. Empty if the cluster is accepted. */
  message: string
  /** The uid of the namespace kube-system of the accepted cluster. */
  uid: string
  /** The rows with changes to push to the cluster. */
  dirtyRows: SyncStatusClusterDirtyRows
  /** Sweeps that wait for acceptance. */
  heldSweeps: SyncStatusClusterHeldSweep[]
}

export type SyncStatusClusterDirtyRows = {
  /** Number of rows with changes to push. */
  count: number
  /** Seconds for which the oldest of them has been dirty. 0 if there is none. */
  oldestSeconds: number
}

export type SyncStatusClusterHeldSweep = {
  /** The kind of the missing resources. */
  kind: 'World' | 'BotDeployment'
  /** Number of missing resources. */
  missing: number
  /** Number of rows with a resource. */
  total: number
  /** Ids of some rows whose resources are missing. */
  examples: string[]
  /** Time since which the sweep waits for acceptance. */
  heldAt: string
}

export type SyncStatusCounts = {
  /** Number of frozen rows. */
  frozen: number
  /** Number of resources without a row that the API made, or whose organization is deleted or unknown. */
  orphans: number
  /** Number of resources with the name of a row that belong to something else. */
  strangers: number
}

export type SyncStatusFinding = {
  /** Identifier of the finding. */
  id: string
  /** Frozen: the resource is ahead of its row. Orphan: it has no row. Stranger: another resource owns its name. */
  type: 'Frozen' | 'Orphan' | 'Stranger'
  /** The kind of the resource. */
  kind: 'World' | 'BotDeployment'
  /** Name of the cluster. */
  cluster: string
  /** Namespace of the resource. */
  namespace: string
  /** Name of the resource. */
  name: string
  /** The difference, and the remedy. */
  message: string
  /** Time of the creation. */
  createdAt: string
}

export type TravelLocation = {
  /** Identifier of the deployment that runs. Empty if none is recorded. */
  deployment: string
  /** Name of the map that the server loaded. */
  map: string
  /** Identifier of the build of the run. Empty for the default image. */
  buildId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Identifier of the launch context. */
  launchContextId: string
  /** Name of the launch context. */
  launchContextName: string
  /** Identifier of the world. */
  worldId: string
  /** Name of the world. */
  worldName: string
  /** Present if the world sleeps and the access check wakes it. */
  isAsleep?: true
  /** URL of the live configuration of the world. */
  liveConfigUrl: string
  /** Identifier of the content that the image holds. */
  contentId: string
  /** Annotations and labels of the owner. */
  metadata: WorldMetadata
  /** Users in the world and in its queue, as its server last reported. */
  queueState: WorldQueueState
  /** Rules for entering the world, and the number of users. */
  admission: WorldAdmission
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Address of the first public port for players. Absent while no server can be reached. */
  address?: WorldStatusAddress
  /** Addresses of all public ports, in their order. Absent while no server can be reached. */
  addresses?: PortAddress[]
  /** Networking strategy of the run. Default means the address of the pod. */
  strategy?: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
}

export type TravelLocations = {
  /** The worlds that users can travel to. */
  worlds: TravelLocation[]
}

export type Usage = {
  /** Maximum number of worlds. */
  maxWorlds: UsageMaxWorlds
  /** Maximum estimatedCapacity of one world. */
  maxWorldCapacity: UsageMaxWorlds
  /** Maximum sum of the capacities of runs that have not ended. */
  maxRunningCapacity: UsageMaxWorlds
  /** Maximum number of node ports of running worlds. Each protocol of each public port counts as one. */
  maxNodePorts: UsageMaxWorlds
  /** Maximum number of load balancers of running worlds. */
  maxLoadBalancers: UsageMaxWorlds
  /** Permits worlds to use the networking strategy HostPort. */
  hostPorts: UsageHostPorts
  /** Maximum number of bot deployments. */
  maxBotDeployments: UsageMaxWorlds
  /** Maximum cpu of all bots together, in cores, rounded to 0.001: the sum of their limits. */
  maxBotCpu: UsageMaxWorlds
  /** Maximum memory of all bots together, in bytes: the sum of their limits. */
  maxBotMemory: UsageMaxWorlds
  /** Registries whose images servers may run, such as ghcr.io/acme; * allows every registry. */
  imageRegistries: UsageImageRegistries
  /** Names of Secrets in the organization's namespace with which images are pulled. */
  imagePullSecrets: UsageImageRegistries
  /** Maximum number of API keys. */
  maxApiKeys: UsageMaxWorlds
  /** Maximum number of webhooks. */
  maxWebhooks: UsageMaxWorlds
  /** Maximum number of documents. */
  maxDocuments: UsageMaxWorlds
  /** Maximum size of the data of all documents, in bytes as stored. */
  maxDocumentBytes: UsageMaxWorlds
  /** Maximum bytes per second of the documents that are written to one replica of the API, averaged over a minute. */
  maxDocumentBytesPerSecond: UsageMaxDocumentBytesPerSecond
  /** Maximum number of realtime connections to one replica of the API. */
  maxConnections: UsageMaxWorlds
  /** Maximum requests per second to one replica of the API, averaged over 10 s. */
  maxRequestsPerSecond: UsageMaxDocumentBytesPerSecond
}

export type UsageHostPorts = {
  /** The limit. */
  limit: boolean
}

export type UsageImageRegistries = {
  /** The limit. */
  limit: string[]
}

export type UsageMaxDocumentBytesPerSecond = {
  /** The limit. */
  limit: number
}

export type UsageMaxWorlds = {
  /** The limit. */
  limit: number
  /** Current use. */
  used: number
}

export type Webhook = {
  /** Identifier of the webhook. */
  documentId: string
  /** Identifier of the organization. */
  organizationId: string
  /** URL to which messages are posted. */
  url: string
  /** Types of events that are sent. Empty for all. */
  events: Array<'world.phase_changed' | 'bot_deployment.phase_changed' | 'api_key.created' | 'api_key.updated' | 'api_key.deleted'>
  /** False if no events are recorded and sent. */
  isActive: boolean
  /** Time of the first failed attempt since the last success. Absent if the last attempt succeeded. */
  failingSince?: string
  /** Time when the system deactivated the webhook. */
  disabledAt?: string
  /** Reason why the system deactivated the webhook: Failing if nothing was delivered for too long, Gone if it answered 410, Backlog if too many deliveries were pending. */
  disabledReason?: 'Failing' | 'Gone' | 'Backlog'
  /** Time of the creation. */
  createdAt: string
  /** Time of the last change of the webhook. */
  updatedAt: string
}

export type WebhookDelivery = {
  /** Identifier of the delivery. */
  id: string
  /** Identifier of the webhook. */
  webhookId: string
  /** Identifier of the message, sent as `webhook-id`. All attempts have the same one. */
  messageId: string
  /** Type of the event. */
  type: 'world.phase_changed' | 'bot_deployment.phase_changed' | 'api_key.created' | 'api_key.updated' | 'api_key.deleted' | 'webhook.test'
  /** Pending until an attempt is answered with 2xx or the last one has failed. */
  status: 'Pending' | 'Delivered' | 'Failed'
  /** Time of the event. */
  createdAt: string
  /** Number of attempts since the event or the last redelivery. */
  attempts: number
  /** Time when the last attempt ended. */
  lastAttemptAt?: string
  /** Time of the next attempt, or of its repetition if one is under way. Only while Pending. */
  nextAttemptAt?: string
  /** HTTP status of the last answer. */
  statusCode?: number
  /** Reason for the failure of the last attempt, for programs. */
  failure?: 'NoPublicAddress' | 'ConnectionFailed' | 'TlsFailed' | 'TimedOut' | 'Redirect' | 'ErrorStatus'
  /** Description of the failure of the last attempt. */
  error?: string
}

export type WokenWorld = {
  /** Phase of the lifecycle. */
  phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
  /** Address of the first public port for players. Absent while no server can be reached. */
  address?: WorldStatusAddress
  /** Addresses of all public ports, in their order. Absent while no server can be reached. */
  addresses?: PortAddress[]
  /** Networking strategy of the run. Default means the address of the pod. */
  strategy?: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
}

export type World = {
  /** Identifier of the world. */
  documentId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Name for people. It does not have to be unique. */
  name: string
  /** Text that describes it to users. Empty if there is none. */
  description: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept. */
  transient: boolean
  /** Annotations and labels of the owner. */
  metadata: WorldMetadata
  /** The location of the server. */
  compute: WorldCompute
  /** Network access and size of the server. */
  networking: WorldNetworking
  /** Build and settings of the server. */
  runtime: WorldRuntime
  /** Permissions in the world. */
  manifest: WorldManifest
  /** Rules for entering the world, and the number of users. */
  admission: WorldAdmission
  /** Rules for sessions of users. Only a create sets them. */
  sessions: WorldSessions
  /** Observed state. */
  status: WorldStatus
  /** Settings for entering the world. */
  launchContext: LaunchContext
  /** Users in the world and in its queue, as its server last reported. */
  queueState: WorldQueueState
  /** Time of the creation. */
  createdAt: string
  /** Time of the last change of the desired state. */
  updatedAt: string
}

export type WorldAccess = {
  /** Identifier of the user. */
  userId: string
  /** True if the user can enter the world. */
  hasAccess: boolean
  /** Sentence that says why a world that sleeps was not woken for the user. Absent otherwise. */
  reason?: string
}

export type WorldAdmission = {
  /** Open lets users in, Queued lets them wait, Closed refuses them. */
  policy: 'Open' | 'Queued' | 'Closed'
  /** Maximum number of users in the world. */
  capacity: number
}

export type WorldCompute = {
  /** Kind of compute to run on. Group and region select the cluster. */
  group: 'production' | 'staging' | 'development'
  /** Region to run in. Group and region select the cluster. */
  region: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
  /** Version of the compute. Orrery stores it and does not interpret it. */
  version?: string
}

export type WorldCounts = {
  /** Number of worlds. */
  total: number
  /** Number of worlds in each phase. */
  phases: WorldCountsPhases
}

export type WorldCountsPhases = {
  /** Number of worlds that never ran. */
  Inactive: number
  /** Number of worlds whose server is not ready yet. */
  Starting: number
  /** Number of worlds that run. */
  Active: number
  /** Number of worlds whose last run has ended. */
  Stopped: number
  /** Number of worlds whose last run has failed. */
  Error: number
}

export type WorldDeployment = {
  /** Identifier of the deployment. */
  id: string
  /** UID of the pod. Empty until there is a pod. */
  externalId: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the project. */
  projectId: string
  /** Identifier of the world. */
  worldId: string
  /** Identifier of the run. */
  runId?: string
  /** Time when the run was requested. */
  createdAt: string
  /** Time of the last change of the deployment. */
  updatedAt: string
  /** Time from which the duration of the run counts. */
  startedAt?: string
  /** Time when the server last became ready. */
  readyAt?: string
  /** Time when the run ended. */
  endedAt?: string
  /** Reason for the end: Stopped by a user, Expired after its duration, Idle after a time without players, Completed with exit code 0, StartDeadline if the server was not ready in time, RestartBudget after too many failures, Superseded by the next run. */
  endReason?: 'Stopped' | 'Expired' | 'Idle' | 'Completed' | 'StartDeadline' | 'RestartBudget' | 'Superseded'
  /** Caller who woke the world for this run. */
  wokenBy?: string
  /** Exit code of the server that ended last. */
  exitCode?: number
  /** Container image of the server. */
  image?: string
  /** Number of failures of the server since it was last ready for 10 minutes. They use up the restart budget. */
  restarts: number
  /** Status of the run. */
  status: 'Unknown' | 'Pending' | 'Starting' | 'Running' | 'Restarting' | 'Stopping' | 'Stopped' | 'Error'
  /** Network access and size of the server. */
  networking: WorldDeploymentNetworking
  /** The location of the server. */
  compute: WorldDeploymentCompute
  /** Build and settings of the server. */
  runtime: WorldDeploymentRuntime
}

export type WorldDeploymentCompute = {
  /** Name of the cluster. */
  clusterName: string
  /** Kind of compute. */
  group: string
  /** Region of the server. */
  region: string
  /** Version of the compute. Orrery stores it and does not interpret it. */
  version?: string
}

export type WorldDeploymentNetworking = {
  /** Size of the server. */
  scaling: WorldDeploymentNetworkingScaling
}

export type WorldDeploymentNetworkingScaling = {
  /** Scaling profile of the run. */
  profile: string
}

export type WorldDeploymentRuntime = {
  /** The build of the run. Empty for the default image. */
  build: WorldDeploymentRuntimeBuild
  /** Name of the map that the server loads. */
  mapName: string
  /** Protocol by which the operator asks the server for its players. If absent, it is GET /readyz, and none if probes is false. With a protocol other than Http, the server has no probes, and is Ready once it has answered. */
  query?: WorldRuntimeQuery
  /** URL of the live configuration of the world. */
  liveConfigUrl: string
  /** Minutes after which the run is stopped. The name is singular. */
  durationMinute?: number
  /** Arguments to the entry point of the image. */
  args: string[]
}

export type WorldDeploymentRuntimeBuild = {
  /** Channel of the build. */
  channelId?: string
  /** Identifier of the build. */
  id?: string
  /** The content that the image holds. */
  content?: WorldDeploymentRuntimeBuildContent
}

export type WorldDeploymentRuntimeBuildContent = {
  /** Identifier of the content. */
  id: string
}

export type WorldExplanation = {
  /** Identifier of the world. */
  worldId: string
  /** Running; Starting, also while a start waits or the server is replaced; Stopped; Failed, until a user acts; NeedsAttention, if something is wrong that may not resolve by itself. */
  state: 'Running' | 'Starting' | 'Stopped' | 'Failed' | 'NeedsAttention'
  /** The state in a sentence, with the name of the world. */
  summary: string
  /** Message of the condition that decides. Empty if the summary says it all. */
  cause: string
  /** Remedy, for people. Absent if none is needed. */
  remedy?: string
  /** Reason of that condition, for programs. Empty for a running world without trouble, and without conditions. */
  reason: string
  /** Time when the status of that condition last changed. Absent if unknown. */
  since?: string
  /** Identifier of the newest run. Absent without one. */
  runId?: string
  /** Number of failures of the run that use up the restart budget. Absent without a run. */
  restarts?: number
  /** Exit code of the server that ended last. Absent if none has. */
  exitCode?: number
  /** Number of other worlds of the organization that the caller can read and that have a condition with the same type, status and reason, at most 5 s ago. 1001 means more than 1000. 0 for a wait, or if nothing is wrong. Absent if they could not be counted in time. */
  others?: number
  /** All of it in plain English. */
  sentence: string
  /** Actions that resolve it, the most promising first. Starts and restarts follow the edits that they put into effect. */
  actions: WorldExplanationAction[]
}

export type WorldExplanationAction = {
  /** Kind of action. */
  kind: 'start' | 'stop' | 'restart' | 'readLog' | 'edit' | 'askOperator' | 'wait'
  /** Member of the body of `patchWorld` that an edit changes. Absent for other kinds. */
  field?: 'compute' | 'networking.ports' | 'networking.scaling.profile' | 'networking.strategy' | 'runtime.build'
}

export type WorldFields = {
  /** Identifier of the world. */
  documentId: string
  /** Identifier of the organization. */
  organizationId?: string
  /** Identifier of the project. */
  projectId?: string
  /** Name for people. It does not have to be unique. */
  name?: string
  /** Text that describes it to users. Empty if there is none. */
  description?: string
  /** Absolute URI of the picture. Absent if there is none. */
  pictureUrl?: string
  /** Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept. */
  transient?: boolean
  /** Annotations and labels of the owner. */
  metadata?: WorldMetadata
  /** The location of the server. */
  compute?: WorldCompute
  /** Network access and size of the server. */
  networking?: WorldNetworking
  /** Build and settings of the server. */
  runtime?: WorldRuntime
  /** Permissions in the world. */
  manifest?: WorldManifest
  /** Rules for entering the world, and the number of users. */
  admission?: WorldAdmission
  /** Rules for sessions of users. Only a create sets them. */
  sessions?: WorldSessions
  /** Observed state. */
  status?: WorldStatus
  /** Settings for entering the world. */
  launchContext?: LaunchContext
  /** Users in the world and in its queue, as its server last reported. */
  queueState?: WorldQueueState
  /** Time of the creation. */
  createdAt?: string
  /** Time of the last change of the desired state. */
  updatedAt?: string
}

export type WorldManifest = {
  /** Permissions that the server gets. */
  serverPermissions: string[]
  /** Permissions that clients of the world get. */
  clientPermissions: string[]
}

export type WorldMetadata = {
  /** Arbitrary notes of the owner. Orrery stores them and does not interpret them. */
  annotations: { [key: string]: string }
  /** Arbitrary marks of the owner. Lists of worlds can be filtered by the labels of worlds. */
  labels: { [key: string]: string }
}

export type WorldMetrics = {
  /** UID of the pod of the server, as in its deployment. */
  externalId: string
  /** Time at which the cluster took the sample. */
  sampledAt: string
  /** Seconds over which the CPU time was averaged. */
  windowSeconds: number
  /** CPU that the server used, in thousandths of a core. */
  cpuMillicores: number
  /** CPU limit of the server. Absent if it has none. */
  cpuLimitMillicores?: number
  /** Memory in use by the server (working set). */
  memoryBytes: number
  /** Memory limit of the server. Absent if it has none. */
  memoryLimitBytes?: number
}

export type WorldNetworking = {
  /** Access to the public ports for players: a Service of type ClusterIP, NodePort or LoadBalancer, ports of the node, a host name of a Gateway for browsers, or the operator's default. */
  strategy: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  /** Ports of the server. The address of the world is that of the first public port. */
  ports: WorldNetworkingPort[]
  /** Size of the server. */
  scaling: WorldNetworkingScaling
}

export type WorldNetworkingPort = {
  /** Name of the port. It is unique in the world. The server gets the number in ORRERY_PORT_<NAME>, in upper case and with _ for -. */
  name: string
  /** Port that the server listens on. It must not be 8080, the port of /readyz and /healthz. */
  containerPort: number
  /** Protocol of the port. TCPUDP means both. */
  protocol: 'TCP' | 'UDP' | 'TCPUDP'
  /** Public opens the port to players and bots, Internal to the operator alone. */
  expose: 'Public' | 'Internal'
  /** Choice of the host port with the strategy HostPort. Dynamic takes a port of a range. Passthrough does too, and the server must listen on that port instead of containerPort. Static takes hostPort. If absent, it is Dynamic. */
  policy?: 'Dynamic' | 'Passthrough' | 'Static'
  /** Name of the platform's range for Dynamic and Passthrough. If absent, it is default. */
  range?: string
  /** Host port of the policy Static: one of the platform's static ports. */
  hostPort?: number
}

export type WorldNetworkingScaling = {
  /** Scaling profile: the CPU, the memory and the capacity of the server. */
  profile: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
  /** Always null. */
  configuration: null
}

export type WorldQueueState = {
  /** Number of users who wait to enter; 0 while it is unknown. */
  queued: number
  /** Number of users in the world; 0 while it is unknown. */
  active: number
  /** Maximum number of players that the server reports. */
  capacity?: number
  /** Version that the server reports. */
  version?: string
  /** Map that the server reports. */
  map?: string
}

export type WorldRuntime = {
  /** The build to run: a channel and tag, or a content. Without one the default image runs. */
  build?: BuildReference
  /** Name of the map that the server loads. */
  mapName: string
  /** Protocol by which the operator asks the server for its players. If absent, it is GET /readyz, and none if probes is false. With a protocol other than Http, the server has no probes, and is Ready once it has answered. */
  query?: WorldRuntimeQuery
  /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
  durationMinutes?: number
  /** Minutes without players after which a run ends: no player in the world, none who waits, and no bots. The world then sleeps until it is started or woken. If absent, it does not sleep. */
  idleStopMinutes?: number
  /** Access lets users who may enter the world wake it while it sleeps, by the access check or by a wake. If absent, it is Never. */
  wakeOnAccess?: 'Never' | 'Access'
  /** Times at which the API starts, stops and restarts the world. Of actions at the same time, the stop comes first and the restart last. */
  schedule?: WorldRuntimeSchedule
  /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
  capacity?: number
  /** Copy of `admission.policy`. */
  admissionPolicy?: 'Open' | 'Queued' | 'Closed'
}

export type WorldRuntimeQuery = {
  /** Http is GET /readyz, A2S the protocol of Valve, MinecraftJava the server list ping, MinecraftBedrock the unconnected ping of RakNet, SQP the server query protocol of Unity. */
  protocol: 'Http' | 'A2S' | 'MinecraftJava' | 'MinecraftBedrock' | 'SQP'
  /** Port that answers: 8080 over TCP, or the containerPort of a port in networking.ports. If absent, it is 8080 with Http, and otherwise the first public port with the transport of the protocol. */
  port?: number
  /** Seconds until a request without an answer has failed. */
  timeoutSeconds: number
}

export type WorldRuntimeSchedule = {
  /** Time zone of the times, by its name in the IANA database. */
  timeZone: string
  /** Times of starts, as the five fields of cron. A world that runs stays as it is. */
  start?: string
  /** Times of stops, as the five fields of cron. */
  stop?: string
  /** Restarts of the world while it runs. A restart is a new run. */
  restart?: WorldRuntimeScheduleRestart
}

export type WorldRuntimeScheduleRestart = {
  /** Times of restarts, as the five fields of cron. */
  at: string
  /** Maximum number of minutes that a restart waits until nobody is in the world. Then, or at the next time of the schedule, it restarts anyway, unless that time is a stop. If absent, it does not wait. */
  whenEmptyWithinMinutes?: number
}

export type WorldSessions = {
  /** Limit on concurrent sessions of a user or an organization. */
  controlPolicy: 'Unlimited' | 'OnePerUser' | 'OnePerOrganization'
  /** Expression that a streaming ticket must satisfy. */
  streamingTicketPredicate: string
  /** Flags for sessions. All are false by default. */
  flags: WorldSessionsFlags
  /** World to which every user is sent. Empty for none. */
  forceTravelWorldId: string
}

export type WorldSessionsFlags = {
  /** True if sessions do not expire. */
  ignoreExpiry: boolean
  /** True if errors at the renewal of a slot are ignored. */
  ignoreSlotRenewalErrors: boolean
  /** True if a session continues without its parent. */
  ignoreParentMissing: boolean
  /** True if sessions begin without waiting. */
  useImmediateMode: boolean
}

export type WorldStatus = {
  /** Phase of the lifecycle. */
  phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
  /** Reason for waiting or failing. Empty if nothing needs attention. */
  message: string
  /** Time when the run was requested. Its duration counts from here. */
  startedAt?: string
  /** The build of the run, fixed at its start. */
  resolvedBuild?: WorldStatusResolvedBuild
  /** Identifier of the run. */
  runId?: string
  /** Address of the first public port for players. Absent while no server can be reached. */
  address?: WorldStatusAddress
  /** Addresses of all public ports, in their order. Absent while no server can be reached. */
  addresses?: PortAddress[]
  /** Networking strategy of the run. Default means the address of the pod. */
  strategy?: 'Default' | 'HostPort' | 'Route' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
  /** Sleep of a world with idleStopMinutes. Absent while its server is not Ready, unless the world sleeps. */
  idle?: WorldStatusIdle
  /** Next action of the schedule. Absent without a schedule. */
  nextAction?: WorldStatusNextAction
  /** Conditions of the world. Empty until the operator has reported. */
  conditions: Condition[]
}

export type WorldStatusAddress = {
  /** IP address or host name. */
  host: string
  /** Port number. */
  port: number
}

export type WorldStatusIdle = {
  /** Time since which nobody is in the world. Absent while something keeps it awake. */
  since?: string
  /** Time at which the run ends if no player joins before. Absent while something keeps it awake. */
  sleepsAt?: string
  /** Reason for which the run does not end: Players in the world, WaitingPlayers, Bots, or UnknownCounts while the server does not say its players. */
  keptAwakeBy?: 'Players' | 'WaitingPlayers' | 'Bots' | 'UnknownCounts'
  /** Time at which the run ended. Present while the world sleeps. */
  asleepSince?: string
}

export type WorldStatusNextAction = {
  /** Action of the schedule. */
  what: 'stop' | 'start' | 'restart'
  /** Time of the action. */
  at: string
  /** Time until which a restart waits for the world to be empty. Absent if it does not wait. */
  by?: string
}

export type WorldStatusResolvedBuild = {
  /** Channel of the build. */
  channelId: string
  /** Tag of the build in its channel. */
  tag: string
  /** Identifier of the organization. */
  organizationId: string
  /** Identifier of the build. */
  id: string
}

type None = { [name: string]: never }

/** The input and response of each operation. */
export type Operations = {
  /**
   * Start, stop, restart or delete many worlds
   *
   * Acts on the worlds of `ids`, or on those that match `filter`, each in its own transaction. Starts leave running worlds as they are. Stops and restarts leave worlds that do not run; a stop also ends a start that waits. A restart is a new run. Takes an API key or a user's token.
   */
  actOnWorlds: {
    params: None
    query: None
    headers: None
    body: BulkAction
    answer: BulkResult
  }
  /**
   * Count the worlds of an organization or of one of its projects, by phase
   *
   * Counts the worlds that `listWorlds` would return with the same headers and filters. Takes an API key or a user's token.
   */
  countWorlds: {
    params: None
    query: {
      /** Phases of the worlds to list. Repeat the parameter or separate the values with commas. */
      phase?: Array<'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'>
      /** Scaling profiles of the worlds to list. Repeat the parameter or separate the values with commas. */
      profile?: Array<'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'>
      /** Regions of the worlds to list. Repeat the parameter or separate the values with commas. */
      region?: Array<'Europe' | 'NorthAmerica' | 'AsiaPacific'>
      /** The exact name of the worlds to list. */
      name?: string
      /** Text that the name or the description contains, in any case. */
      q?: string
      /** A label that the worlds have: `key=value`, or `key` for any value. All of several must match. */
      label?: string[]
    }
    headers: None
    body: undefined
    answer: WorldCounts
  }
  /**
   * Create an API key with at most the permissions of the caller
   *
   * A key never grants more than its creator holds. Its string is shown in full in this response. Takes an API key only; a user's token gets 403.
   */
  createApiKey: {
    params: None
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateApiKey
    answer: CreatedApiKey
  }
  /**
   * Create a bot deployment
   *
   * The bots run while the world is Active. The Location header names the new deployment. Takes an API key or a user's token.
   */
  createBotDeployment: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateBotDeployment
    answer: undefined
  }
  /**
   * Create an organization
   *
   * Needs the platform key or the claim `createOrganization`. The key gets `*` on the organization. Takes an API key only; a user's token gets 403.
   */
  createOrganization: {
    params: None
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateOrganization
    answer: CreatedOrganization
  }
  /**
   * Create a project
   *
   * Needs `w` on the organization. Takes an API key or a user's token.
   */
  createProject: {
    params: None
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateProject
    answer: CreatedProject
  }
  /**
   * Create a ticket that replaces the credential in one realtime handshake
   *
   * The ticket stands for the credential of the request in this organization. It ends after one handshake or 30 s. Takes an API key or a user's token.
   */
  createRealtimeTicket: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: RealtimeTicket
  }
  /**
   * Create the address at which an issuer signs a person in
   *
   * The console goes there with a code challenge (RFC 7636). Needs no credential.
   */
  createSignInRequest: {
    params: None
    query: None
    headers: None
    body: SignInRequest
    answer: SignInAddress
  }
  /**
   * Exchange the code of an issuer for a token
   *
   * The API exchanges it, so the secret of the client stays with the API. Needs no credential.
   */
  createSignInToken: {
    params: None
    query: None
    headers: None
    body: SignInCode
    answer: SignInToken
  }
  /**
   * Create a short-lived token for a user
   *
   * The token never permits more than its key does now. It becomes invalid with the key. Takes an API key only; a user's token gets 403.
   */
  createToken: {
    params: {
      /** Identifier of the user. */
      userId: string
    }
    query: None
    headers: None
    body: CreateToken
    answer: CreatedToken
  }
  /**
   * Create a webhook; the response contains its secret
   *
   * The secret is in this response only. A receiver verifies the messages with it (Standard Webhooks). Takes an API key only; a user's token gets 403.
   */
  createWebhook: {
    params: None
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateWebhook
    answer: CreatedWebhook
  }
  /**
   * Create a world
   *
   * Only `name` and `transient` are required. The launch context is created in the same transaction. Takes an API key or a user's token.
   */
  createWorld: {
    params: None
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: CreateWorld
    answer: CreatedWorld
  }
  /**
   * Delete an API key
   *
   * Every replica refuses the key within a second, and its realtime connections end. Takes an API key only; a user's token gets 403.
   */
  deleteApiKey: {
    params: {
      /** Identifier of the API key. */
      apiKeyId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Delete a bot deployment and stop its bots
   *
   * The deployment is absent at once. Its bots stop afterwards. Takes an API key or a user's token.
   */
  deleteBotDeployment: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the bot deployment. */
      botDeploymentId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete the build of a channel and tag
   *
   * Active runs keep their build. Takes an API key or a user's token.
   */
  deleteBuild: {
    params: {
      /** Channel of the build. */
      channelId: string
      /** Tag of the build in its channel. */
      tag: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a collection document
   *
   * Subscribers get an update with empty data. Takes an API key or a user's token.
   */
  deleteCollection: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a kvStore document
   *
   * Subscribers get an update with empty data. Takes an API key or a user's token.
   */
  deleteKvStore: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a liveConfig document
   *
   * Subscribers get an update with empty data. Takes an API key or a user's token.
   */
  deleteLiveConfig: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete an organization with everything in it
   *
   * Its keys are invalid at once. It can be restored until its rows are erased. Takes an API key only; a user's token gets 403.
   */
  deleteOrganization: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a project with its worlds, bots and documents
   *
   * Deletes the project with its worlds, bots and documents. Needs `w` on all of them. Takes an API key or a user's token.
   */
  deleteProject: {
    params: None
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a webhook with its deliveries
   *
   * No message is sent afterwards, except by attempts that are under way. Takes an API key or a user's token.
   */
  deleteWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Delete a world with its bots and documents
   *
   * The world is absent at once. Its bots, pods and resources follow. Takes an API key or a user's token.
   */
  deleteWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Explain the state of a world, and what to do about it
   *
   * Says in a sentence why a world is not running, from its conditions and its newest run. Takes an API key or a user's token.
   */
  explainWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WorldExplanation
  }
  /**
   * Read a bot deployment
   *
   * Its entity tag can be sent as If-Match with each change. Takes an API key or a user's token.
   */
  getBotDeployment: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the bot deployment. */
      botDeploymentId: string
    }
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: BotDeployment
  }
  /**
   * Read the build of a channel and tag
   *
   * Returns the image and content of a channel and tag. Takes an API key or a user's token.
   */
  getBuild: {
    params: {
      /** Channel of the build. */
      channelId: string
      /** Tag of the build in its channel. */
      tag: string
    }
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Build
  }
  /**
   * Read a collection document
   *
   * The document is in the scope of the headers, or in the one that its id names. Takes an API key or a user's token.
   */
  getCollection: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Document
  }
  /**
   * Read what the credential of the request is and may do
   *
   * Accepts every valid credential and needs no scope header. It returns no secret. Takes an API key or a user's token.
   */
  getCurrentCredential: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: CurrentCredential
  }
  /**
   * Read the permissions of groups of external issuers
   *
   * Returns the group mappings: the permissions that members of a group get with a token of an external issuer. Takes an API key or a user's token.
   */
  getGroups: {
    params: None
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Groups
  }
  /**
   * Read the public keys that verify tokens of the built-in issuer
   *
   * A JSON Web Key Set (RFC 7517). Clients may cache it for five minutes.
   */
  getJsonWebKeySet: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: JsonWebKeySet
  }
  /**
   * Read a kvStore document
   *
   * The document is in the scope of the headers, or in the one that its id names. Takes an API key or a user's token.
   */
  getKvStore: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Document
  }
  /**
   * Read a liveConfig document
   *
   * The document is in the scope of the headers, or in the one that its id names. Takes an API key or a user's token.
   */
  getLiveConfig: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Document
  }
  /**
   * Read the public fields of an organization
   *
   * Needs no credential. Returns the public fields only.
   */
  getOrganization: {
    params: None
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: PublicOrganization
  }
  /**
   * Read the public fields of an organization
   *
   * Needs no credential. Returns the public fields only.
   */
  getOrganizationById: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: PublicOrganization
  }
  /**
   * Read a project
   *
   * Returns the project of the header x-svc-project-id. Takes an API key or a user's token.
   */
  getProject: {
    params: None
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Project
  }
  /**
   * Read the state of the synchronisation with the clusters
   *
   * Needs the platform key. `orrery sync` resolves what it shows. The Link header leads to more findings. Takes an API key only; a user's token gets 403.
   */
  getSyncStatus: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: SyncStatus
  }
  /**
   * Read the limits of an organization with their use
   *
   * Returns each limit of the organization and its current use. Takes an API key or a user's token.
   */
  getUsage: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: Usage
  }
  /**
   * Read a webhook
   *
   * The secret is not returned. `failingSince` and `disabledReason` tell if messages are delivered. Takes an API key or a user's token.
   */
  getWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: Webhook
  }
  /**
   * Read a world with its launch context
   *
   * Its entity tag can be sent as If-Match with each change. Takes an API key or a user's token.
   */
  getWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: undefined
    answer: World
  }
  /**
   * Check whether a user can enter a world
   *
   * The token is that of the user, or has `*` on the organization. A world that does not exist gives false. If the world sleeps and `runtime.wakeOnAccess` is Access, the check starts it for a user who may enter; a HEAD starts nothing. Takes a user's token only.
   */
  getWorldAccess: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the user. */
      userId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WorldAccess
  }
  /**
   * List the API keys of an organization; key strings are masked unless the caller may manage them
   *
   * Key strings are masked unless the caller has `*` and all permissions and claims of the key. Takes an API key only; a user's token gets 403.
   */
  listApiKeys: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** With `masked`, no key string is shown, and no audit record is written. */
      keyStrings?: 'masked'
    }
    headers: None
    body: undefined
    answer: ApiKey[]
  }
  /**
   * List who changed what in an organization, newest first
   *
   * Returns the changes that were made in the organization, newest first. Needs `*` on the organization. A page compares at most 1,000 records with the filters, so it may be shorter than `limit`, even empty, although the Link header leads to more. Takes an API key or a user's token.
   */
  listAuditRecords: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Only records of this time or later, in the years 1970 to 9999 in UTC. */
      since?: string
      /** Only records before this time, in the years 1970 to 9999 in UTC. */
      until?: string
      /** Only records of changes that arrived this way. */
      door?: 'rest' | 'kubectl' | 'cli' | 'system'
      /** Only records of the actor with this id. */
      actor?: string
      /** Only records of this action, such as an operationId. */
      action?: string
      /** Only records that name this resource. */
      resource?: string
    }
    headers: None
    body: undefined
    answer: AuditRecord[]
  }
  /**
   * List the recent events of a bot deployment, newest first
   *
   * Starts, ends and problems of the bots. A bot deployment keeps its newest 100 events. Takes an API key or a user's token.
   */
  listBotDeploymentEvents: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the bot deployment. */
      botDeploymentId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: Event[]
  }
  /**
   * List the bot deployments of a world
   *
   * Returns the bot deployments of the world, oldest first. Takes an API key or a user's token.
   */
  listBotDeployments: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: BotDeployment[]
  }
  /**
   * List the deleted worlds of a project that can be restored
   *
   * Returns the deleted worlds of the project, oldest first. Takes an API key or a user's token.
   */
  listDeletedWorlds: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: DeletedWorld[]
  }
  /**
   * List the organizations that the key can read
   *
   * Returns the organizations on which the key has a verb, oldest first. Takes an API key or a user's token.
   */
  listOrganizations: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: Organization[]
  }
  /**
   * List who changed the platform itself, newest first
   *
   * Needs the platform key. Returns the changes of the command `orrery` that concern no single organization. Takes an API key only; a user's token gets 403.
   */
  listPlatformAuditRecords: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Only records of this time or later, in the years 1970 to 9999 in UTC. */
      since?: string
      /** Only records before this time, in the years 1970 to 9999 in UTC. */
      until?: string
      /** Only records of changes that arrived this way. */
      door?: 'rest' | 'kubectl' | 'cli' | 'system'
      /** Only records of the actor with this id. */
      actor?: string
      /** Only records of this action, such as an operationId. */
      action?: string
      /** Only records that name this resource. */
      resource?: string
    }
    headers: None
    body: undefined
    answer: PlatformAuditRecord[]
  }
  /**
   * List the projects that the caller can read
   *
   * Returns the projects on which the caller has a verb, oldest first. Takes an API key or a user's token.
   */
  listProjects: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: Project[]
  }
  /**
   * List the public and active worlds of all organizations
   *
   * Returns worlds whose launch context is public and active and whose phase is Active, without private fields. Takes an API key or a user's token.
   */
  listPublicWorlds: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: PublicWorld[]
  }
  /**
   * List the scaling profiles, smallest first
   *
   * Returns the twelve profiles with their capacity and memory. Takes an API key or a user's token.
   */
  listScalingProfiles: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: ScalingProfile[]
  }
  /**
   * List the issuers with which people can sign in to the console
   *
   * Needs no credential.
   */
  listSignInIssuers: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: SignInIssuers
  }
  /**
   * List the active worlds that the key can read
   *
   * The headers restrict the list. A project without an organization names its own organization. With `include=idle`, worlds that sleep and that the access check wakes are in the list too. Takes an API key or a user's token.
   */
  listTravelLocations: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Also lists worlds that sleep and that the access check wakes. */
      include?: 'idle'
    }
    headers: None
    body: undefined
    answer: TravelLocations
  }
  /**
   * List the deliveries of a webhook, newest first
   *
   * A delivery has the status of the last answer and no content of it. Takes an API key or a user's token.
   */
  listWebhookDeliveries: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Only deliveries in this state. */
      status?: 'Pending' | 'Delivered' | 'Failed'
    }
    headers: None
    body: undefined
    answer: WebhookDelivery[]
  }
  /**
   * List the webhooks of an organization
   *
   * Returns the webhooks of the organization, oldest first, without their secrets. Takes an API key or a user's token.
   */
  listWebhooks: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: Webhook[]
  }
  /**
   * List the runs of a world, oldest first
   *
   * Returns one deployment for each run. The status filter selects some of them. Takes an API key or a user's token.
   */
  listWorldDeployments: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Statuses of the runs to list. Repeat the parameter or separate the values with commas. */
      status?: Array<'Unknown' | 'Pending' | 'Starting' | 'Running' | 'Restarting' | 'Stopping' | 'Stopped' | 'Error'>
    }
    headers: None
    body: undefined
    answer: WorldDeployment[]
  }
  /**
   * List the recent events of a world, newest first
   *
   * Starts, stops, restarts, ends and problems. A world keeps its newest 100 events. Takes an API key or a user's token.
   */
  listWorldEvents: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: Event[]
  }
  /**
   * List the worlds of an organization or of one of its projects
   *
   * Returns the worlds that the caller can read, oldest first, or in the order of `sort`. The project header and the filters restrict the list. Takes an API key or a user's token.
   */
  listWorlds: {
    params: None
    query: {
      /** Phases of the worlds to list. Repeat the parameter or separate the values with commas. */
      phase?: Array<'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'>
      /** Scaling profiles of the worlds to list. Repeat the parameter or separate the values with commas. */
      profile?: Array<'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'>
      /** Regions of the worlds to list. Repeat the parameter or separate the values with commas. */
      region?: Array<'Europe' | 'NorthAmerica' | 'AsiaPacific'>
      /** The exact name of the worlds to list. */
      name?: string
      /** Text that the name or the description contains, in any case. */
      q?: string
      /** A label that the worlds have: `key=value`, or `key` for any value. All of several must match. */
      label?: string[]
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. Send the same `sort` with it. */
      cursor?: string
      /** The field that orders the list, with `-` for descending. Equal values are ordered by id. */
      sort?: 'createdAt' | 'updatedAt' | 'name' | 'phase' | '-createdAt' | '-updatedAt' | '-name' | '-phase'
      /** Members of the worlds in the response. Without it, all. `documentId` is always there. Repeat the parameter or separate the values with commas. */
      fields?: Array<'documentId' | 'organizationId' | 'projectId' | 'name' | 'description' | 'pictureUrl' | 'transient' | 'metadata' | 'compute' | 'networking' | 'runtime' | 'manifest' | 'admission' | 'sessions' | 'status' | 'launchContext' | 'queueState' | 'createdAt' | 'updatedAt'>
    }
    headers: None
    body: undefined
    answer: World[]
    sparse: WorldFields[]
  }
  /**
   * Change an API key
   *
   * Deactivating needs `*` on the organization. Other changes also need all permissions and claims of the key. Takes an API key only; a user's token gets 403.
   */
  patchApiKey: {
    params: {
      /** Identifier of the API key. */
      apiKeyId: string
    }
    query: None
    headers: None
    body: PatchApiKey
    answer: ApiKey
  }
  /**
   * Change the count of a bot deployment and the settings of its next bots
   *
   * Scales in place and keeps the lowest indexes. Other settings act on pods that are made later. Takes an API key or a user's token.
   */
  patchBotDeployment: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the bot deployment. */
      botDeploymentId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchBotDeployment
    answer: undefined
  }
  /**
   * Set limits of an organization; omitted limits stay unchanged
   *
   * Needs the platform key. Returns all limits of the organization. Takes an API key only; a user's token gets 403.
   */
  patchLimits: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchLimits
    answer: Limits
  }
  /**
   * Change an organization
   *
   * Absent fields stay. A supplied object replaces the previous one as a whole. Takes an API key or a user's token.
   */
  patchOrganization: {
    params: None
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchOrganization
    answer: undefined
  }
  /**
   * Change an organization
   *
   * Absent fields stay. A supplied object replaces the previous one as a whole. Takes an API key or a user's token.
   */
  patchOrganizationById: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchOrganization
    answer: undefined
  }
  /**
   * Rename a project
   *
   * Renames the project. `documentId` may be left out; otherwise it must equal the header. Takes an API key or a user's token.
   */
  patchProject: {
    params: None
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchProject
    answer: PatchedProject
  }
  /**
   * Change a webhook
   *
   * Activating a webhook clears the reason for which it was deactivated, and sends what is pending. Takes an API key or a user's token.
   */
  patchWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchWebhook
    answer: Webhook
  }
  /**
   * Change a world. Absent fields stay; an object replaces the previous one as a whole
   *
   * Settings of the server take effect at the next start; `status.message` names the pending ones. Takes an API key or a user's token.
   */
  patchWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: PatchWorld
    answer: World
  }
  /**
   * Erase a deleted organization for good
   *
   * Only a deleted organization can be purged. It cannot be restored afterwards. Takes an API key only; a user's token gets 403.
   */
  purgeOrganization: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Erase a deleted project for good
   *
   * Only a deleted project can be purged. It cannot be restored afterwards. Takes an API key or a user's token.
   */
  purgeProject: {
    params: {
      /** Identifier of the project. */
      projectId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Erase a deleted world for good
   *
   * Only a deleted world can be purged. It cannot be restored afterwards. Takes an API key or a user's token.
   */
  purgeWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Set the build of a channel and tag
   *
   * Every change gets a new build id. Runs keep the build of their start. Takes an API key or a user's token.
   */
  putBuild: {
    params: {
      /** Channel of the build. */
      channelId: string
      /** Tag of the build in its channel. */
      tag: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: PutBuild
    answer: Build
  }
  /**
   * Create or replace a collection document
   *
   * Subscribers get the new content. Takes an API key or a user's token.
   */
  putCollection: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: PutCollection
    answer: Document
  }
  /**
   * Replace the permissions of groups of external issuers
   *
   * Members of a group get its permissions in addition to those of their token, within a second on every replica. The caller must hold them. Takes an API key only; a user's token gets 403.
   */
  putGroups: {
    params: None
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: Groups
    answer: Groups
  }
  /**
   * Create or replace a kvStore document
   *
   * Subscribers get the new content. Entries of kvstoreServer need the claim `worldServer`. A token without `*` on the scope writes only documents of its own user. Takes an API key or a user's token.
   */
  putKvStore: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: PutKvStore
    answer: Document
  }
  /**
   * Create or replace a liveConfig document
   *
   * Subscribers get the new content. Takes an API key or a user's token.
   */
  putLiveConfig: {
    params: {
      /** Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope. */
      id: string
    }
    query: None
    headers: {
      /** Identifier of the world of the request. */
      'x-svc-world-id'?: string
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Entity tags. A read gets 304 if one is current. `*` refuses a write with 412 if the resource exists. */
      'if-none-match'?: string
    }
    body: PutLiveConfig
    answer: Document
  }
  /**
   * Set the picture of an organization
   *
   * The picture is scaled down to at most 1024 x 1024 pixels and stored as WebP. The previous upload is deleted. Takes an API key or a user's token.
   */
  putOrganizationPicture: {
    params: None
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: FormData | Blob | Uint8Array
    answer: Organization
  }
  /**
   * Set the picture of an organization
   *
   * The picture is scaled down to at most 1024 x 1024 pixels and stored as WebP. The previous upload is deleted. Takes an API key or a user's token.
   */
  putOrganizationPictureById: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: FormData | Blob | Uint8Array
    answer: Organization
  }
  /**
   * Set the picture of a world
   *
   * The picture is scaled down to at most 1024 x 1024 pixels and stored as WebP. The previous upload is deleted. Takes an API key or a user's token.
   */
  putWorldPicture: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: FormData | Blob | Uint8Array
    answer: World
  }
  /**
   * Read or follow the log of a bot
   *
   * Returns what a running bot writes to its standard output and error. No log of a bot is kept. 409: the bot does not run. 501: logs are turned off. Takes an API key or a user's token.
   */
  readBotLog: {
    params: {
      /** Identifier of the world. */
      worldId: string
      /** Identifier of the bot deployment. */
      botDeploymentId: string
    }
    query: {
      /** Send new lines as they come, for at most 15 minutes. `follow` without a value is true. */
      follow?: '' | 'true' | 'false'
      /** Start of the log: a number of seconds before now, or a time (RFC 3339). Without it, the log starts with its last 1,000 lines. A kept log is always returned as a whole. */
      since?: string
      /** The number of the bot in the deployment, from 0. */
      bot?: string
    }
    headers: None
    body: undefined
    answer: string
  }
  /**
   * Read or follow the log of the server of a world
   *
   * Returns what the server writes to its standard output and error, while it has a pod. The last 64 KiB of a server that failed or ended by itself are kept, as best effort, for the newest 10 runs of a world. Needs the verb `w`, since a log may contain secrets. 409: the server has not started. 501: logs are turned off. Takes an API key or a user's token.
   */
  readWorldLog: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: {
      /** Send new lines as they come, for at most 15 minutes. `follow` without a value is true. */
      follow?: '' | 'true' | 'false'
      /** Start of the log: a number of seconds before now, or a time (RFC 3339). Without it, the log starts with its last 1,000 lines. A kept log is always returned as a whole. */
      since?: string
      /** The run whose log is read. Without it the newest run. */
      deployment?: string
    }
    headers: None
    body: undefined
    answer: string
  }
  /**
   * Read the CPU and memory that the server of a world uses
   *
   * Returns the newest sample of metrics.k8s.io. 409: no server runs, or it has no sample yet. 501: the cluster has no metrics, or logs are turned off. Takes an API key or a user's token.
   */
  readWorldMetrics: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WorldMetrics
  }
  /**
   * Send a message again
   *
   * The message keeps its id, and gets all attempts anew. Takes an API key or a user's token.
   */
  redeliverWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
      /** Identifier of the delivery. */
      deliveryId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WebhookDelivery
  }
  /**
   * Exchange a refresh token for the next token
   *
   * Needs no credential.
   */
  refreshSignInToken: {
    params: None
    query: None
    headers: None
    body: SignInRefresh
    answer: SignInToken
  }
  /**
   * Check that a build reference can be resolved
   *
   * Answers 204 if exactly one build results, and 422 with the missing part otherwise. Takes an API key or a user's token.
   */
  resolveBuildAndContent: {
    params: None
    query: None
    headers: None
    body: BuildReference
    answer: undefined
  }
  /**
   * Restore a deleted organization with what was deleted with it
   *
   * Restores the projects and worlds that were deleted with it. Its keys are valid again. Answers 409 at a limit. Takes an API key only; a user's token gets 403.
   */
  restoreOrganization: {
    params: {
      /** Identifier of the organization. It must equal the header x-svc-organization-id. */
      organizationId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Restore a deleted project with the worlds that were deleted with it
   *
   * Answers 409 at a limit, and while the resource of one of its worlds still exists in the cluster. Takes an API key or a user's token.
   */
  restoreProject: {
    params: {
      /** Identifier of the project. */
      projectId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Restore a deleted world with its bots, documents, deployments and picture
   *
   * The world is inactive, private and without a run. Answers 409 at a limit, and while its resource still exists. Takes an API key or a user's token.
   */
  restoreWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Revoke a token
   *
   * Every replica refuses the token within a second. An unknown id is accepted. Takes an API key or a user's token.
   */
  revokeToken: {
    params: {
      /** Identifier of the user. */
      userId: string
      /** Identifier of the token. */
      tokenId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /**
   * Replace the string of an API key; the old string stays valid for the overlap
   *
   * The replaced string stays valid for the overlap. A second rotation ends the first overlap. Takes an API key only; a user's token gets 403.
   */
  rotateApiKey: {
    params: {
      /** Identifier of the API key. */
      apiKeyId: string
    }
    query: None
    headers: {
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: RotateApiKey
    answer: RotatedApiKey
  }
  /**
   * Replace the secret of a webhook; the old secret signs too for the overlap
   *
   * For the overlap, messages have a signature of each of the two secrets. A second rotation ends it. Takes an API key only; a user's token gets 403.
   */
  rotateWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: RotateWebhook
    answer: RotatedWebhook
  }
  /**
   * Start a new run of a world, whatever its state
   *
   * Records a new run and answers at once. Follow `status.phase` for the result. Takes an API key or a user's token.
   */
  startWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Stop a world. Its server drains afterwards
   *
   * The phase is Stopped at once. The server drains afterwards. Takes an API key or a user's token.
   */
  stopWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
    }
    body: undefined
    answer: undefined
  }
  /**
   * Send a test message to a webhook
   *
   * The message has the type `webhook.test`. Its delivery shows the result. Takes an API key or a user's token.
   */
  testWebhook: {
    params: {
      /** Identifier of the webhook. */
      webhookId: string
    }
    query: None
    headers: {
      /** Entity tags. The request is refused with 412 if the revision of the resource differs from all of them. */
      'if-match'?: string
      /** Makes the request safe to repeat for 24 hours: a repetition gets the first response. Another body gets 409. */
      'idempotency-key'?: string
    }
    body: undefined
    answer: WebhookDelivery
  }
  /**
   * Wake a world that sleeps
   *
   * Starts a run if the world sleeps. If `runtime.wakeOnAccess` is Never, this needs `w` on the world. A world in another state stays as it is. Returns the phase, and the address once there is one. A world is woken once a minute, and a caller wakes 6 worlds a minute. Takes an API key or a user's token.
   */
  wakeWorld: {
    params: {
      /** Identifier of the world. */
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WokenWorld
  }
}

/** The method, path and media types of each operation, and what its caller needs. */
export const operations = {
  actOnWorlds: { method: 'POST', path: '/api/worlds/actions/', body: ['application/json'] },
  countWorlds: { method: 'GET', path: '/api/worlds/counts/' },
  createApiKey: { method: 'POST', path: '/api/organizations/apiKeys/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  createBotDeployment: { method: 'POST', path: '/api/worlds/{worldId}/bots/', body: ['application/json'], needs: { scope: 'world', verb: 'w' } },
  createOrganization: { method: 'POST', path: '/api/organizations/', body: ['application/json'], needs: { claim: 'createOrganization', credential: 'key' } },
  createProject: { method: 'POST', path: '/api/organizations/projects/', body: ['application/json'], needs: { scope: 'organization', verb: 'w' } },
  createRealtimeTicket: { method: 'POST', path: '/api/realtime/tickets/' },
  createSignInRequest: { method: 'POST', path: '/api/sign-in/requests/', body: ['application/json'] },
  createSignInToken: { method: 'POST', path: '/api/sign-in/tokens/', body: ['application/json'] },
  createToken: { method: 'POST', path: '/api/users/{userId}/tokens/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  createWebhook: { method: 'POST', path: '/api/webhooks/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  createWorld: { method: 'POST', path: '/api/worlds/', body: ['application/json'], needs: { scope: 'project', verb: 'w' } },
  deleteApiKey: { method: 'DELETE', path: '/api/organizations/apiKeys/{apiKeyId}/', needs: { scope: 'organization', verb: '*', credential: 'key' } },
  deleteBotDeployment: { method: 'DELETE', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/', needs: { scope: 'world', verb: 'w' } },
  deleteBuild: { method: 'DELETE', path: '/api/builds/{channelId}/{tag}/', needs: { scope: 'organization', verb: 'w' } },
  deleteCollection: { method: 'DELETE', path: '/api/documents/collection/{id}/', needs: { verb: 'w' } },
  deleteKvStore: { method: 'DELETE', path: '/api/documents/kvStore/{id}/', needs: { verb: 'w' } },
  deleteLiveConfig: { method: 'DELETE', path: '/api/documents/liveConfig/{id}/', needs: { verb: 'w' } },
  deleteOrganization: { method: 'DELETE', path: '/api/organizations/{organizationId}/', needs: { scope: 'organization', verb: 'r', platformOnly: true, credential: 'key' } },
  deleteProject: { method: 'DELETE', path: '/api/organizations/projects/current/', needs: { scope: 'project', verb: 'w', subtree: true } },
  deleteWebhook: { method: 'DELETE', path: '/api/webhooks/{webhookId}/', needs: { scope: 'organization', verb: '*' } },
  deleteWorld: { method: 'DELETE', path: '/api/worlds/{worldId}/', needs: { scope: 'world', verb: 'w' } },
  explainWorld: { method: 'GET', path: '/api/worlds/{worldId}/why/', needs: { scope: 'world', verb: 'r' } },
  getBotDeployment: { method: 'GET', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/', needs: { scope: 'world', verb: 'r' } },
  getBuild: { method: 'GET', path: '/api/builds/{channelId}/{tag}/', needs: { scope: 'organization', verb: 'r' } },
  getCollection: { method: 'GET', path: '/api/documents/collection/{id}/', needs: { verb: 'r' } },
  getCurrentCredential: { method: 'GET', path: '/api/credentials/current/' },
  getGroups: { method: 'GET', path: '/api/organizations/current/groups/', needs: { scope: 'organization', verb: '*' } },
  getJsonWebKeySet: { method: 'GET', path: '/.well-known/jwks.json' },
  getKvStore: { method: 'GET', path: '/api/documents/kvStore/{id}/', needs: { verb: 'r' } },
  getLiveConfig: { method: 'GET', path: '/api/documents/liveConfig/{id}/', needs: { verb: 'r' } },
  getOrganization: { method: 'GET', path: '/api/organizations/current/' },
  getOrganizationById: { method: 'GET', path: '/api/organizations/{organizationId}/' },
  getProject: { method: 'GET', path: '/api/organizations/projects/current/', needs: { scope: 'project', verb: 'r' } },
  getSyncStatus: { method: 'GET', path: '/api/sync/', needs: { platformOnly: true, credential: 'key' } },
  getUsage: { method: 'GET', path: '/api/organizations/current/usage/', needs: { scope: 'organization', verb: 'r' } },
  getWebhook: { method: 'GET', path: '/api/webhooks/{webhookId}/', needs: { scope: 'organization', verb: '*' } },
  getWorld: { method: 'GET', path: '/api/worlds/{worldId}/', needs: { scope: 'world', verb: 'r' } },
  getWorldAccess: { method: 'GET', path: '/api/worlds/{worldId}/users/{userId}/access/', needs: { credential: 'token' } },
  listApiKeys: { method: 'GET', path: '/api/organizations/apiKeys/', needs: { scope: 'organization', verb: 'r', credential: 'key' } },
  listAuditRecords: { method: 'GET', path: '/api/audit/', needs: { scope: 'organization', verb: '*' } },
  listBotDeploymentEvents: { method: 'GET', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/events/', needs: { scope: 'world', verb: 'r' } },
  listBotDeployments: { method: 'GET', path: '/api/worlds/{worldId}/bots/', needs: { scope: 'world', verb: 'r' } },
  listDeletedWorlds: { method: 'GET', path: '/api/worlds/deleted/', needs: { scope: 'project', verb: 'r' } },
  listOrganizations: { method: 'GET', path: '/api/organizations/' },
  listPlatformAuditRecords: { method: 'GET', path: '/api/audit/platform/', needs: { platformOnly: true, credential: 'key' } },
  listProjects: { method: 'GET', path: '/api/organizations/projects/' },
  listPublicWorlds: { method: 'GET', path: '/api/worlds/public/' },
  listScalingProfiles: { method: 'GET', path: '/api/worlds/scalingProfiles/' },
  listSignInIssuers: { method: 'GET', path: '/api/sign-in/issuers/' },
  listTravelLocations: { method: 'GET', path: '/api/worlds/travel/locations/' },
  listWebhookDeliveries: { method: 'GET', path: '/api/webhooks/{webhookId}/deliveries/', needs: { scope: 'organization', verb: '*' } },
  listWebhooks: { method: 'GET', path: '/api/webhooks/', needs: { scope: 'organization', verb: '*' } },
  listWorldDeployments: { method: 'GET', path: '/api/worlds/{worldId}/deployments/', needs: { scope: 'world', verb: 'r' } },
  listWorldEvents: { method: 'GET', path: '/api/worlds/{worldId}/events/', needs: { scope: 'world', verb: 'r' } },
  listWorlds: { method: 'GET', path: '/api/worlds/' },
  patchApiKey: { method: 'PATCH', path: '/api/organizations/apiKeys/{apiKeyId}/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  patchBotDeployment: { method: 'PATCH', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/', body: ['application/json'], needs: { scope: 'world', verb: 'w' } },
  patchLimits: { method: 'PATCH', path: '/api/organizations/{organizationId}/limits/', body: ['application/json'], needs: { scope: 'organization', verb: 'r', platformOnly: true, credential: 'key' } },
  patchOrganization: { method: 'PATCH', path: '/api/organizations/current/', body: ['application/json'], needs: { scope: 'organization', verb: 'w' } },
  patchOrganizationById: { method: 'PATCH', path: '/api/organizations/{organizationId}/', body: ['application/json'], needs: { scope: 'organization', verb: 'w' } },
  patchProject: { method: 'PATCH', path: '/api/organizations/projects/current/', body: ['application/json'], needs: { scope: 'project', verb: 'w' } },
  patchWebhook: { method: 'PATCH', path: '/api/webhooks/{webhookId}/', body: ['application/json'], needs: { scope: 'organization', verb: '*' } },
  patchWorld: { method: 'PATCH', path: '/api/worlds/{worldId}/', body: ['application/json'], needs: { scope: 'world', verb: 'w' } },
  purgeOrganization: { method: 'POST', path: '/api/organizations/{organizationId}/purge/', needs: { scope: 'organization', verb: 'r', platformOnly: true, credential: 'key' } },
  purgeProject: { method: 'POST', path: '/api/organizations/projects/{projectId}/purge/', needs: { scope: 'project', verb: 'w', subtree: true } },
  purgeWorld: { method: 'POST', path: '/api/worlds/{worldId}/purge/', needs: { scope: 'project', verb: 'w', subtree: true } },
  putBuild: { method: 'PUT', path: '/api/builds/{channelId}/{tag}/', body: ['application/json'], needs: { scope: 'organization', verb: 'w' } },
  putCollection: { method: 'PUT', path: '/api/documents/collection/{id}/', body: ['application/json'], needs: { verb: 'w' } },
  putGroups: { method: 'PUT', path: '/api/organizations/current/groups/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  putKvStore: { method: 'PUT', path: '/api/documents/kvStore/{id}/', body: ['application/json'], needs: { verb: 'w' } },
  putLiveConfig: { method: 'PUT', path: '/api/documents/liveConfig/{id}/', body: ['application/json'], needs: { verb: 'w' } },
  putOrganizationPicture: { method: 'PATCH', path: '/api/organizations/current/pictureUrl/', body: ['multipart/form-data', 'image/png', 'image/jpeg', 'image/webp'], needs: { scope: 'organization', verb: 'w' } },
  putOrganizationPictureById: { method: 'PATCH', path: '/api/organizations/{organizationId}/pictureUrl/', body: ['multipart/form-data', 'image/png', 'image/jpeg', 'image/webp'], needs: { scope: 'organization', verb: 'w' } },
  putWorldPicture: { method: 'PATCH', path: '/api/worlds/{worldId}/pictureUrl/', body: ['multipart/form-data', 'image/png', 'image/jpeg', 'image/webp'], needs: { scope: 'world', verb: 'w' } },
  readBotLog: { method: 'GET', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/logs/', needs: { scope: 'world', verb: 'w' } },
  readWorldLog: { method: 'GET', path: '/api/worlds/{worldId}/logs/', needs: { scope: 'world', verb: 'w' } },
  readWorldMetrics: { method: 'GET', path: '/api/worlds/{worldId}/metrics/', needs: { scope: 'world', verb: 'r' } },
  redeliverWebhook: { method: 'POST', path: '/api/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver/', needs: { scope: 'organization', verb: '*' } },
  refreshSignInToken: { method: 'POST', path: '/api/sign-in/refresh/', body: ['application/json'] },
  resolveBuildAndContent: { method: 'POST', path: '/api/worlds/resolveBuildAndContent/', body: ['application/json'], needs: { scope: 'project', verb: 'r' } },
  restoreOrganization: { method: 'POST', path: '/api/organizations/{organizationId}/restore/', needs: { scope: 'organization', verb: 'r', platformOnly: true, credential: 'key' } },
  restoreProject: { method: 'POST', path: '/api/organizations/projects/{projectId}/restore/', needs: { scope: 'project', verb: 'w', subtree: true } },
  restoreWorld: { method: 'POST', path: '/api/worlds/{worldId}/restore/', needs: { scope: 'project', verb: 'w' } },
  revokeToken: { method: 'DELETE', path: '/api/users/{userId}/tokens/{tokenId}/', needs: { scope: 'organization', verb: '*' } },
  rotateApiKey: { method: 'POST', path: '/api/organizations/apiKeys/{apiKeyId}/rotate/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  rotateWebhook: { method: 'POST', path: '/api/webhooks/{webhookId}/rotate/', body: ['application/json'], needs: { scope: 'organization', verb: '*', credential: 'key' } },
  startWorld: { method: 'POST', path: '/api/worlds/{worldId}/start/', needs: { scope: 'world', verb: 'w' } },
  stopWorld: { method: 'POST', path: '/api/worlds/{worldId}/stop/', needs: { scope: 'world', verb: 'w' } },
  testWebhook: { method: 'POST', path: '/api/webhooks/{webhookId}/test/', needs: { scope: 'organization', verb: '*' } },
  wakeWorld: { method: 'POST', path: '/api/worlds/{worldId}/wake/', needs: { scope: 'world', verb: 'r' } },
} as const
