// Generated from the API's OpenAPI document by `npm run client`; change the routes there.

export type ApiKey = {
  documentId: string
  displayName: string
  isActive: boolean
  isManagedByProvisioner: boolean
  organizationId: string
  claims: { [key: string]: boolean }
  permissions: string[]
  keyString: string
  expiresAt?: string
  lastUsedAt?: string
  allowedNetworks?: string[]
}

export type BotDeployment = {
  documentId: string
  description: string
  configuration: {
    count: number
    cpu: string
    memory: string
    args: string[]
    durationMinutes?: number
  }
  status: {
    phase: 'Pending' | 'Starting' | 'Running' | 'Stopping' | 'Stopped' | 'Error'
    message: string
    /** Milliseconds since 1970. */
    startedAt?: number
    worldStartedAt?: string
    cluster: {
      name: string
      computeGroup: string
    }
  }
  metadata: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
  organizationId: string
  projectId: string
  worldId: string
}

export type Build = {
  id: string
  organizationId: string
  channelId: string
  tag: string
  image: string
  contentId: string
  digest?: string
  probes: boolean
  createdAt: string
}

export type CreateApiKey = {
  displayName: string
  claims?: { [key: string]: boolean }
  isActive?: boolean
  permissions?: string[]
  /** The expiry of the key. */
  expiresAt?: string
  /** The CIDR blocks from which the key may be used. */
  allowedNetworks?: string[]
}

export type CreateBotDeployment = {
  /** Number of bots. */
  count: number
  description?: string
  /** CPU limit of each bot: cores, such as 1 or 0.5, or thousandths of a core, such as 250m. */
  cpu?: string
  /** Memory limit of each bot in bytes, with an optional suffix, such as 128Mi. */
  memory?: string
  /** Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded. */
  args?: string[]
  /** Minutes from the start of the bots until they are stopped. If absent, they run as long as their world. */
  durationMinutes?: number
  metadata?: {
    annotations?: { [key: string]: string }
    labels?: { [key: string]: string }
  }
}

export type CreateOrganization = {
  name: string
  featuredEventId?: string
  websiteInfo?: {
    title?: string
    headTags?: string[]
  }
  features?: {
    loginPanelDisclaimer?: string
    profilePictureUpload?: boolean
    hasProfilePage?: boolean
    hasCollectionsPage?: boolean
    hasNavigationMenu?: boolean
    allowPublicReadableChat?: boolean
    loginOptions?: {
      hasEmail?: boolean
      hasWalletA?: boolean
      hasWalletB?: boolean
      hasWalletC?: boolean
      hasIdentityProvider?: boolean
    }
    allowUserTokenManagement?: boolean
    pubsub?: {
      publishKey?: string
      subscribeKey?: string
      defaultChannels?: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization?: {
      unique?: boolean
      pattern?: string
    }
    iosNativeClientSupport?: boolean
    useSignedContentDownloads?: boolean
    customerConnectUrl?: string
  }
  legalPolicies?: {
    termsOfService?: string[]
    privacyPolicy?: string[]
    chatRules?: string[]
    partnerPrivacyPolicy?: string[]
    eula?: string[]
  }
  hasEventEnabled?: boolean
}

export type CreateProject = {
  name: string
}

export type CreateToken = {
  durationMinutes?: number
  permissions?: string[]
}

export type CreateWorld = {
  /** The name that users see. It does not have to be unique. */
  name: string
  /** Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept. */
  transient: boolean
  /** Text that describes the world to users. */
  description?: string
  pictureUrl?: string
  metadata?: {
    annotations?: { [key: string]: string }
    labels?: { [key: string]: string }
  }
  manifest?: {
    serverPermissions?: string[]
    clientPermissions?: string[]
  }
  admission?: {
    policy?: 'Open' | 'Queued' | 'Closed'
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
  }
  sessions?: {
    controlPolicy?: 'Unlimited' | 'OnePerUser' | 'OnePerOrganization'
    streamingTicketPredicate?: string
    flags?: {
      ignoreExpiry?: boolean
      ignoreSlotRenewalErrors?: boolean
      ignoreParentMissing?: boolean
      useImmediateMode?: boolean
    }
    forceTravelWorldId?: string
  }
  compute?: {
    /** Kind of compute to run on. Group and region select the cluster. */
    group?: 'production' | 'staging' | 'development'
    /** Region to run in. Group and region select the cluster. */
    region?: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version?: string
  }
  networking?: {
    /** Access to the game port for players: a Service of type ClusterIP, NodePort or LoadBalancer, or the operator's default. */
    strategy?: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling?: {
      /** Scaling profile: the CPU, the memory and the capacity of the server. */
      profile?: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration?: null
    }
  }
  runtime?: {
    build?: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    /** Name of the map that the server loads. */
    mapName?: string
    /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
    durationMinutes?: number
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
    admissionPolicy?: 'Open' | 'Queued' | 'Closed'
  }
  streaming?: {
    providerA?: {
      cmsId?: string
      authorizationId?: string
      launchMode?: 'same-tab' | 'new-tab' | 'embedded'
    }
    streamManager?: {
      streamContextId?: string
      allowForceProvider?: boolean
      showProviderOptions?: boolean
      useBuildVersion?: boolean
    }
    providerB?: {
      gameLabel?: string
      gameChannel?: string
    }
    bypassBrowserRestrictions?: boolean
    okPageUrl?: string
    errorPageUrl?: string
  }
}

export type CreatedApiKey = {
  apiKey: string
}

export type CreatedOrganization = {
  organizationId: string
  features: {
    loginPanelDisclaimer?: string
    profilePictureUpload?: boolean
    hasProfilePage?: boolean
    hasCollectionsPage?: boolean
    hasNavigationMenu?: boolean
    allowPublicReadableChat?: boolean
    loginOptions?: {
      hasEmail?: boolean
      hasWalletA?: boolean
      hasWalletB?: boolean
      hasWalletC?: boolean
      hasIdentityProvider?: boolean
    }
    allowUserTokenManagement?: boolean
    pubsub?: {
      publishKey?: string
      subscribeKey?: string
      defaultChannels?: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization?: {
      unique?: boolean
      pattern?: string
    }
    iosNativeClientSupport?: boolean
    useSignedContentDownloads?: boolean
    customerConnectUrl?: string
  }
}

export type CreatedProject = {
  projectId: string
}

export type CreatedToken = {
  tokenId: string
  accessToken: string
  tokenType: 'Bearer'
  expiresAt: string
}

export type CreatedWorld = {
  worldId: string
  launchContextId: string
}

export type Document = {
  userId: string
  resource: {
    type: 'kvStore' | 'collection' | 'liveConfig'
    id: string
  }
  data: { [key: string]: unknown }
  version: string
}

export type JsonWebKeySet = {
  keys: Array<{
    kty: string
    kid: string
    alg: string
    use: string
    [key: string]: unknown
  }>
}

export type LaunchContext = {
  publicDownload: {
    enabled: boolean
    enforceAntiCheat: boolean
    allowMac: boolean
    allowIos: boolean
  }
  errorPageUrl: string
  okPageUrl: string
  providerAStreaming?: {
    cmsId: string
    authorizationId: string
    launchMode: 'same-tab' | 'new-tab' | 'embedded'
  }
  providerBStreaming?: {
    gameLabel: string
    gameChannel: string
  }
  streamManager?: {
    streamContextId: string
    allowForceProvider: boolean
    showProviderOptions: boolean
    useBuildVersion: boolean
  }
  bypassBrowserRestrictions: boolean
  enableQueue: boolean
  capacity: number
  buildInfo?: {
    buildChannelId: string
    buildTag: string
    buildType: 'client' | 'server'
  }
  launchContextId: string
  worldId: string
  organizationId: string
  projectId: string
  name: string
  description?: string
  pictureUrl?: string
  isActive: boolean
  isPublic: boolean
  isWorldTravelOnly: boolean
  useWorldSessions: boolean
  permissionVerb: 'r' | 'w' | '*'
}

export type Limits = {
  /** Maximum number of worlds. */
  maxWorlds: number
  /** Maximum estimatedCapacity of one world. */
  maxWorldCapacity: number
  /** Maximum sum of the capacities with which running worlds were started. */
  maxRunningCapacity: number
  /** Maximum number of bot deployments. */
  maxBotDeployments: number
  /** Maximum number of API keys. */
  maxApiKeys: number
  /** Maximum number of documents. */
  maxDocuments: number
  /** Maximum size of the data of all documents, in bytes as stored. */
  maxDocumentBytes: number
  /** Maximum number of realtime connections to one replica of the API. */
  maxConnections: number
  /** Maximum requests per second to one replica of the API, averaged over 10 s. */
  maxRequestsPerSecond: number
}

export type Organization = {
  documentId: string
  name: string
  tenantId: string
  pictureUrl?: string
  featuredEventId?: string
  websiteInfo?: {
    title?: string
    headTags?: string[]
  }
  features: {
    loginPanelDisclaimer?: string
    profilePictureUpload?: boolean
    hasProfilePage?: boolean
    hasCollectionsPage?: boolean
    hasNavigationMenu?: boolean
    allowPublicReadableChat?: boolean
    loginOptions?: {
      hasEmail?: boolean
      hasWalletA?: boolean
      hasWalletB?: boolean
      hasWalletC?: boolean
      hasIdentityProvider?: boolean
    }
    allowUserTokenManagement?: boolean
    pubsub?: {
      publishKey?: string
      subscribeKey?: string
      defaultChannels?: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization?: {
      unique?: boolean
      pattern?: string
    }
    iosNativeClientSupport?: boolean
    useSignedContentDownloads?: boolean
    customerConnectUrl?: string
  }
  legalPolicies?: {
    termsOfService?: string[]
    privacyPolicy?: string[]
    chatRules?: string[]
    partnerPrivacyPolicy?: string[]
    eula?: string[]
  }
  hasEventEnabled: boolean
  permissionVerb: 'r' | 'w' | '*'
  isSlot: boolean
}

export type PatchApiKey = {
  displayName?: string
  claims?: { [key: string]: boolean }
  isActive?: boolean
  permissions?: string[]
  expiresAt?: string | null
  allowedNetworks?: string[] | null
}

export type PatchBotDeployment = {
  /** Number of bots. */
  count: number
  /** CPU limit of each bot: cores, such as 1 or 0.5, or thousandths of a core, such as 250m. */
  cpu?: string
  /** Memory limit of each bot in bytes, with an optional suffix, such as 128Mi. */
  memory?: string
  /** Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded. */
  args?: string[]
  /** Minutes from the start of the bots until they are stopped. If absent, they run as long as their world. */
  durationMinutes?: number
  metadata?: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
}

export type PatchLimits = {
  /** Maximum number of worlds. */
  maxWorlds?: number
  /** Maximum estimatedCapacity of one world. */
  maxWorldCapacity?: number
  /** Maximum sum of the capacities with which running worlds were started. */
  maxRunningCapacity?: number
  /** Maximum number of bot deployments. */
  maxBotDeployments?: number
  /** Maximum number of API keys. */
  maxApiKeys?: number
  /** Maximum number of documents. */
  maxDocuments?: number
  /** Maximum size of the data of all documents, in bytes as stored. */
  maxDocumentBytes?: number
  /** Maximum number of realtime connections to one replica of the API. */
  maxConnections?: number
  /** Maximum requests per second to one replica of the API, averaged over 10 s. */
  maxRequestsPerSecond?: number
}

export type PatchOrganization = {
  name?: string
  /** A label that the tenant chooses. It is not unique; organizationId identifies the organization. */
  tenantId?: string
  featuredEventId?: string
  features?: {
    loginPanelDisclaimer?: string
    profilePictureUpload?: boolean
    hasProfilePage?: boolean
    hasCollectionsPage?: boolean
    hasNavigationMenu?: boolean
    allowPublicReadableChat?: boolean
    loginOptions?: {
      hasEmail?: boolean
      hasWalletA?: boolean
      hasWalletB?: boolean
      hasWalletC?: boolean
      hasIdentityProvider?: boolean
    }
    allowUserTokenManagement?: boolean
    pubsub?: {
      publishKey?: string
      subscribeKey?: string
      defaultChannels?: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization?: {
      unique?: boolean
      pattern?: string
    }
    iosNativeClientSupport?: boolean
    useSignedContentDownloads?: boolean
    customerConnectUrl?: string
  }
}

export type PatchProject = {
  documentId?: string
  name?: string
}

export type PatchWorld = {
  /** The name that users see. It does not have to be unique. */
  name?: string
  /** Text that describes the world to users. */
  description?: string
  pictureUrl?: string
  isPublic?: boolean
  metadata?: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
  manifest?: {
    serverPermissions: string[]
    clientPermissions: string[]
  }
  admission?: {
    policy: 'Open' | 'Queued' | 'Closed'
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
  }
  compute?: {
    /** Kind of compute to run on. Group and region select the cluster. */
    group: 'production' | 'staging' | 'development'
    /** Region to run in. Group and region select the cluster. */
    region: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version?: string
  }
  networking?: {
    /** Access to the game port for players: a Service of type ClusterIP, NodePort or LoadBalancer, or the operator's default. */
    strategy: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling: {
      /** Scaling profile: the CPU, the memory and the capacity of the server. */
      profile: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration?: null
    }
  }
  runtime?: {
    build?: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    /** Name of the map that the server loads. */
    mapName?: string
    /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
    durationMinutes?: number
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
    admissionPolicy?: 'Open' | 'Queued' | 'Closed'
  }
  streaming?: {
    providerA?: {
      cmsId?: string
      authorizationId?: string
      launchMode?: 'same-tab' | 'new-tab' | 'embedded'
    }
    streamManager?: {
      streamContextId?: string
      allowForceProvider?: boolean
      showProviderOptions?: boolean
      useBuildVersion?: boolean
    }
    providerB?: {
      gameLabel?: string
      gameChannel?: string
    }
    bypassBrowserRestrictions?: boolean
    okPageUrl?: string
    errorPageUrl?: string
  }
  publicDownload?: {
    enabled: boolean
    enforceAntiCheat: boolean
    allowMac: boolean
    allowIos: boolean
  }
}

export type PatchedProject = {
  documentId: string
  name: string
}

/** An error (RFC 9457). `code` is stable and meant for programs; `errors` lists the validation errors. */
export type Problem = {
  type: string
  title: string
  status: number
  detail: string
  code: string
  requestId: string
  errors?: Array<{
    path: string
    message: string
  }>
}

export type Project = {
  documentId: string
  name: string
  projectId: string
  permissionVerb: 'r' | 'w' | '*'
}

export type PublicLaunchContext = {
  publicDownload: {
    enabled: boolean
    enforceAntiCheat: boolean
    allowMac: boolean
    allowIos: boolean
  }
  errorPageUrl: string
  okPageUrl: string
  providerAStreaming?: {
    cmsId: string
    launchMode: 'same-tab' | 'new-tab' | 'embedded'
  }
  providerBStreaming?: {
    gameLabel: string
    gameChannel: string
  }
  streamManager?: {
    streamContextId: string
    allowForceProvider: boolean
    showProviderOptions: boolean
    useBuildVersion: boolean
  }
  bypassBrowserRestrictions: boolean
  enableQueue: boolean
  capacity: number
  buildInfo?: {
    buildChannelId: string
    buildTag: string
    buildType: 'client' | 'server'
  }
  launchContextId: string
  worldId: string
  organizationId: string
  projectId: string
  name: string
  description?: string
  pictureUrl?: string
  isActive: boolean
  isPublic: boolean
  isWorldTravelOnly: boolean
  useWorldSessions: boolean
  permissionVerb: 'r' | 'w' | '*'
}

export type PublicOrganization = {
  organizationId: string
  name: string
  tenantId: string
  pictureUrl?: string
  featuredEventId?: string
  websiteInfo?: {
    title?: string
    headTags?: string[]
  }
  features: {
    loginPanelDisclaimer?: string
    profilePictureUpload?: boolean
    hasProfilePage?: boolean
    hasCollectionsPage?: boolean
    hasNavigationMenu?: boolean
    allowPublicReadableChat?: boolean
    loginOptions?: {
      hasEmail?: boolean
      hasWalletA?: boolean
      hasWalletB?: boolean
      hasWalletC?: boolean
      hasIdentityProvider?: boolean
    }
    allowUserTokenManagement?: boolean
    pubsub?: {
      publishKey?: string
      subscribeKey?: string
      defaultChannels?: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization?: {
      unique?: boolean
      pattern?: string
    }
    iosNativeClientSupport?: boolean
    useSignedContentDownloads?: boolean
    customerConnectUrl?: string
  }
  legalPolicies?: {
    termsOfService?: string[]
    privacyPolicy?: string[]
    chatRules?: string[]
    partnerPrivacyPolicy?: string[]
    eula?: string[]
  }
  hasEventEnabled: boolean
  supportedProviders: {
    providerA: boolean
    providerB: boolean
    providerC: boolean
    providerD: boolean
  }
}

export type PublicWorld = {
  documentId: string
  organizationId: string
  projectId: string
  name: string
  description?: string
  pictureUrl?: string
  transient: boolean
  metadata: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
  compute: {
    /** Kind of compute to run on. Group and region select the cluster. */
    group: 'production' | 'staging' | 'development'
    /** Region to run in. Group and region select the cluster. */
    region: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version?: string
  }
  networking: {
    /** Access to the game port for players: a Service of type ClusterIP, NodePort or LoadBalancer, or the operator's default. */
    strategy: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling: {
      /** Scaling profile: the CPU, the memory and the capacity of the server. */
      profile: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration: null
    }
  }
  runtime: {
    build?: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    /** Name of the map that the server loads. */
    mapName: string
    /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
    durationMinutes?: number
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
    admissionPolicy?: 'Open' | 'Queued' | 'Closed'
  }
  admission: {
    policy: 'Open' | 'Queued' | 'Closed'
    capacity: number
  }
  sessions: {
    controlPolicy: 'Unlimited' | 'OnePerUser' | 'OnePerOrganization'
    streamingTicketPredicate: string
    flags: {
      ignoreExpiry: boolean
      ignoreSlotRenewalErrors: boolean
      ignoreParentMissing: boolean
      useImmediateMode: boolean
    }
    forceTravelWorldId: string
  }
  status: {
    phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
    message: string
    startedAt?: string
    resolvedBuild?: {
      channelId: string
      tag: string
      organizationId: string
      id: string
    }
    runId?: string
  }
  launchContext: PublicLaunchContext
  queueState: {
    queued: number
    active: number
  }
}

export type PutBuild = {
  image: string
  contentId: string
  digest?: string
  /** True if the image serves the probes of the server contract. */
  probes?: boolean
}

export type PutCollection = {
  data: {
    userId: string
    datasourceId: string
    userCollection: unknown[]
  }
  userId?: string
}

export type PutKvStore = {
  data: {
    key: string
    store: 'kvstoreClient' | 'kvstoreServer'
    data: unknown
  }
  userId?: string
}

export type PutLiveConfig = {
  data: {
    id: string
    config: { [key: string]: unknown }
  }
  userId?: string
}

export type RotateApiKey = {
  /** The time for which the replaced string stays valid, in seconds. */
  overlapSeconds?: number
}

export type RotatedApiKey = {
  apiKey: string
  previousValidUntil: string
}

export type ScalingProfile = {
  name: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
  estimatedCapacity: number
  maxBotsPerWorld: number
  resourceConfiguration: {
    server: {
      memoryLimit: string
    }
  }
}

export type TravelLocation = {
  deployment: string
  map: string
  buildId: string
  organizationId: string
  projectId: string
  launchContextId: string
  launchContextName: string
  worldId: string
  worldName: string
  liveConfigUrl: string
  contentId: string
  metadata: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
  queueState: {
    queued: number
    active: number
  }
  admission: {
    policy: 'Open' | 'Queued' | 'Closed'
    capacity: number
  }
  pictureUrl?: string
}

export type TravelLocations = {
  worlds: TravelLocation[]
}

export type Usage = {
  maxWorlds: {
    limit: number
    used: number
  }
  maxWorldCapacity: {
    limit: number
    used: number
  }
  maxRunningCapacity: {
    limit: number
    used: number
  }
  maxBotDeployments: {
    limit: number
    used: number
  }
  maxApiKeys: {
    limit: number
    used: number
  }
  maxDocuments: {
    limit: number
    used: number
  }
  maxDocumentBytes: {
    limit: number
    used: number
  }
  maxConnections: {
    limit: number
    used: number
  }
  maxRequestsPerSecond: {
    limit: number
  }
}

export type World = {
  documentId: string
  organizationId: string
  projectId: string
  name: string
  description?: string
  pictureUrl?: string
  transient: boolean
  metadata: {
    annotations: { [key: string]: string }
    labels: { [key: string]: string }
  }
  compute: {
    /** Kind of compute to run on. Group and region select the cluster. */
    group: 'production' | 'staging' | 'development'
    /** Region to run in. Group and region select the cluster. */
    region: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version?: string
  }
  networking: {
    /** Access to the game port for players: a Service of type ClusterIP, NodePort or LoadBalancer, or the operator's default. */
    strategy: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling: {
      /** Scaling profile: the CPU, the memory and the capacity of the server. */
      profile: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration: null
    }
  }
  runtime: {
    build?: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    /** Name of the map that the server loads. */
    mapName: string
    /** Minutes from the start of a run until it is stopped. If absent, a run has no time limit. */
    durationMinutes?: number
    /** Maximum number of players in the world. If absent, it is the capacity of the scaling profile. */
    capacity?: number
    admissionPolicy?: 'Open' | 'Queued' | 'Closed'
  }
  manifest: {
    serverPermissions: string[]
    clientPermissions: string[]
  }
  admission: {
    policy: 'Open' | 'Queued' | 'Closed'
    capacity: number
  }
  sessions: {
    controlPolicy: 'Unlimited' | 'OnePerUser' | 'OnePerOrganization'
    streamingTicketPredicate: string
    flags: {
      ignoreExpiry: boolean
      ignoreSlotRenewalErrors: boolean
      ignoreParentMissing: boolean
      useImmediateMode: boolean
    }
    forceTravelWorldId: string
  }
  status: {
    phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
    message: string
    startedAt?: string
    resolvedBuild?: {
      channelId: string
      tag: string
      organizationId: string
      id: string
    }
    runId?: string
  }
  launchContext: LaunchContext
  queueState: {
    queued: number
    active: number
  }
}

export type WorldAccess = {
  userId: string
  hasAccess: boolean
}

export type WorldDeployment = {
  id: string
  externalId: string
  organizationId: string
  projectId: string
  worldId: string
  runId?: string
  createdAt: string
  status: 'Unknown' | 'Pending' | 'Starting' | 'Running' | 'Restarting' | 'Stopping' | 'Stopped' | 'Error'
  networking: {
    scaling: {
      profile: string
    }
  }
  compute: {
    clusterName: string
    group: string
    region: string
    version?: string
  }
  runtime: {
    build: {
      channelId?: string
      id?: string
      content?: {
        id: string
      }
    }
    mapName: string
    liveConfigUrl: string
    durationMinute?: number
    args: string[]
  }
}

type None = { [name: string]: never }

/** The input and response of each operation. */
export type Operations = {
  /** Create an API key with at most the permissions of the caller */
  createApiKey: {
    params: None
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: CreateApiKey
    answer: CreatedApiKey
  }
  /** Create a bot deployment */
  createBotDeployment: {
    params: {
      worldId: string
    }
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: CreateBotDeployment
    answer: undefined
  }
  /** Create an organization */
  createOrganization: {
    params: None
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: CreateOrganization
    answer: CreatedOrganization
  }
  /** Create a project */
  createProject: {
    params: None
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: CreateProject
    answer: CreatedProject
  }
  /** Create a short-lived token for a user */
  createToken: {
    params: {
      userId: string
    }
    query: None
    headers: None
    body: CreateToken
    answer: CreatedToken
  }
  /** Create a world */
  createWorld: {
    params: None
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: CreateWorld
    answer: CreatedWorld
  }
  /** Delete an API key */
  deleteApiKey: {
    params: {
      apiKeyId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Delete a bot deployment and stop its bots */
  deleteBotDeployment: {
    params: {
      worldId: string
      botDeploymentId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Delete the build of a channel and tag */
  deleteBuild: {
    params: {
      channelId: string
      tag: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Delete a collection document */
  deleteCollection: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: undefined
  }
  /** Delete a kvStore document */
  deleteKvStore: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: undefined
  }
  /** Delete a liveConfig document */
  deleteLiveConfig: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: undefined
  }
  /** Delete a project with its worlds, bots and documents */
  deleteProject: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Delete a world with its bots and documents */
  deleteWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Read a bot deployment */
  getBotDeployment: {
    params: {
      worldId: string
      botDeploymentId: string
    }
    query: None
    headers: None
    body: undefined
    answer: BotDeployment
  }
  /** Read the build of a channel and tag */
  getBuild: {
    params: {
      channelId: string
      tag: string
    }
    query: None
    headers: None
    body: undefined
    answer: Build
  }
  /** Read a collection document */
  getCollection: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: Document
  }
  /** Read the public keys that verify tokens of the built-in issuer */
  getJsonWebKeySet: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: JsonWebKeySet
  }
  /** Read a kvStore document */
  getKvStore: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: Document
  }
  /** Read a liveConfig document */
  getLiveConfig: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: undefined
    answer: Document
  }
  /** Read the public fields of an organization */
  getOrganization: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: PublicOrganization
  }
  /** Read the public fields of an organization */
  getOrganizationById: {
    params: {
      organizationId: string
    }
    query: None
    headers: None
    body: undefined
    answer: PublicOrganization
  }
  /** Read a project */
  getProject: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: Project
  }
  /** Read the limits of an organization with their use */
  getUsage: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: Usage
  }
  /** Read a world with its launch context */
  getWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: World
  }
  /** Check whether a user can enter a world */
  getWorldAccess: {
    params: {
      worldId: string
      userId: string
    }
    query: None
    headers: None
    body: undefined
    answer: WorldAccess
  }
  /** List the API keys of an organization; key strings are masked unless the caller may manage them */
  listApiKeys: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: ApiKey[]
  }
  /** List the bot deployments of a world */
  listBotDeployments: {
    params: {
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
  /** List the organizations that the key can read */
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
  /** List the projects that the caller can read */
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
  /** List the public and active worlds of all organizations */
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
  /** List the scaling profiles, smallest first */
  listScalingProfiles: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: ScalingProfile[]
  }
  /** List the active worlds that the key can read */
  listTravelLocations: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: TravelLocations
  }
  /** List the runs of a world, oldest first */
  listWorldDeployments: {
    params: {
      worldId: string
    }
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
      /** Statuses of the runs to list. Repeat the parameter or separate them with commas. */
      status?: (Array<'Unknown' | 'Pending' | 'Starting' | 'Running' | 'Restarting' | 'Stopping' | 'Stopped' | 'Error'>) & (string | string[])
    }
    headers: None
    body: undefined
    answer: WorldDeployment[]
  }
  /** List the worlds of an organization or of one of its projects */
  listWorlds: {
    params: None
    query: {
      /** The highest number of items in the response. */
      limit?: number
      /** The cursor from the Link header of the previous page. */
      cursor?: string
    }
    headers: None
    body: undefined
    answer: World[]
  }
  /** Change an API key */
  patchApiKey: {
    params: {
      apiKeyId: string
    }
    query: None
    headers: None
    body: PatchApiKey
    answer: ApiKey
  }
  /** Change the count of a bot deployment and the settings of its next bots */
  patchBotDeployment: {
    params: {
      worldId: string
      botDeploymentId: string
    }
    query: None
    headers: {
      'if-match'?: string
    }
    body: PatchBotDeployment
    answer: undefined
  }
  /** Set limits of an organization; omitted limits stay unchanged */
  patchLimits: {
    params: {
      organizationId: string
    }
    query: None
    headers: None
    body: PatchLimits
    answer: Limits
  }
  /** Change an organization */
  patchOrganization: {
    params: None
    query: None
    headers: None
    body: PatchOrganization
    answer: undefined
  }
  /** Change an organization */
  patchOrganizationById: {
    params: {
      organizationId: string
    }
    query: None
    headers: None
    body: PatchOrganization
    answer: undefined
  }
  /** Rename a project */
  patchProject: {
    params: None
    query: None
    headers: {
      'if-match'?: string
    }
    body: PatchProject
    answer: PatchedProject
  }
  /** Change a world. Absent fields stay; an object replaces the previous one as a whole */
  patchWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: {
      'if-match'?: string
    }
    body: PatchWorld
    answer: World
  }
  /** Set the build of a channel and tag */
  putBuild: {
    params: {
      channelId: string
      tag: string
    }
    query: None
    headers: None
    body: PutBuild
    answer: Build
  }
  /** Create or replace a collection document */
  putCollection: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: PutCollection
    answer: Document
  }
  /** Create or replace a kvStore document */
  putKvStore: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: PutKvStore
    answer: Document
  }
  /** Create or replace a liveConfig document */
  putLiveConfig: {
    params: {
      id: string
    }
    query: None
    headers: {
      'x-svc-world-id'?: string
    }
    body: PutLiveConfig
    answer: Document
  }
  /** Set the picture of an organization */
  putOrganizationPicture: {
    params: None
    query: None
    headers: {
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: Blob | Uint8Array | FormData
    answer: Organization
  }
  /** Set the picture of an organization */
  putOrganizationPictureById: {
    params: {
      organizationId: string
    }
    query: None
    headers: {
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: Blob | Uint8Array | FormData
    answer: Organization
  }
  /** Set the picture of a world */
  putWorldPicture: {
    params: {
      worldId: string
    }
    query: None
    headers: {
      'content-type'?: 'image/png' | 'image/jpeg' | 'image/webp'
    }
    body: Blob | Uint8Array | FormData
    answer: World
  }
  /** Check that a build reference can be resolved */
  resolveBuildAndContent: {
    params: None
    query: None
    headers: None
    body: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    answer: undefined
  }
  /** Revoke a token */
  revokeToken: {
    params: {
      userId: string
      tokenId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Replace the string of an API key; the old string stays valid for the overlap */
  rotateApiKey: {
    params: {
      apiKeyId: string
    }
    query: None
    headers: {
      'idempotency-key'?: string
    }
    body: RotateApiKey
    answer: RotatedApiKey
  }
  /** Start a new run of a world, whatever its state */
  startWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Stop a world. Its server drains afterwards */
  stopWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
}

/** The method, path and media types of each operation. */
export const operations = {
  createApiKey: { method: 'POST', path: '/api/organizations/apiKeys/', body: ['application/json'] },
  createBotDeployment: { method: 'POST', path: '/api/worlds/{worldId}/bots/', body: ['application/json'] },
  createOrganization: { method: 'POST', path: '/api/organizations/', body: ['application/json'] },
  createProject: { method: 'POST', path: '/api/organizations/projects/', body: ['application/json'] },
  createToken: { method: 'POST', path: '/api/users/{userId}/tokens/', body: ['application/json'] },
  createWorld: { method: 'POST', path: '/api/worlds/', body: ['application/json'] },
  deleteApiKey: { method: 'DELETE', path: '/api/organizations/apiKeys/{apiKeyId}/' },
  deleteBotDeployment: { method: 'DELETE', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/' },
  deleteBuild: { method: 'DELETE', path: '/api/builds/{channelId}/{tag}/' },
  deleteCollection: { method: 'DELETE', path: '/api/documents/collection/{id}/' },
  deleteKvStore: { method: 'DELETE', path: '/api/documents/kvStore/{id}/' },
  deleteLiveConfig: { method: 'DELETE', path: '/api/documents/liveConfig/{id}/' },
  deleteProject: { method: 'DELETE', path: '/api/organizations/projects/current/' },
  deleteWorld: { method: 'DELETE', path: '/api/worlds/{worldId}/' },
  getBotDeployment: { method: 'GET', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/' },
  getBuild: { method: 'GET', path: '/api/builds/{channelId}/{tag}/' },
  getCollection: { method: 'GET', path: '/api/documents/collection/{id}/' },
  getJsonWebKeySet: { method: 'GET', path: '/.well-known/jwks.json' },
  getKvStore: { method: 'GET', path: '/api/documents/kvStore/{id}/' },
  getLiveConfig: { method: 'GET', path: '/api/documents/liveConfig/{id}/' },
  getOrganization: { method: 'GET', path: '/api/organizations/current/' },
  getOrganizationById: { method: 'GET', path: '/api/organizations/{organizationId}/' },
  getProject: { method: 'GET', path: '/api/organizations/projects/current/' },
  getUsage: { method: 'GET', path: '/api/organizations/current/usage/' },
  getWorld: { method: 'GET', path: '/api/worlds/{worldId}/' },
  getWorldAccess: { method: 'GET', path: '/api/worlds/{worldId}/users/{userId}/access/' },
  listApiKeys: { method: 'GET', path: '/api/organizations/apiKeys/' },
  listBotDeployments: { method: 'GET', path: '/api/worlds/{worldId}/bots/' },
  listOrganizations: { method: 'GET', path: '/api/organizations/' },
  listProjects: { method: 'GET', path: '/api/organizations/projects/' },
  listPublicWorlds: { method: 'GET', path: '/api/worlds/public/' },
  listScalingProfiles: { method: 'GET', path: '/api/worlds/scalingProfiles/' },
  listTravelLocations: { method: 'GET', path: '/api/worlds/travel/locations/' },
  listWorldDeployments: { method: 'GET', path: '/api/worlds/{worldId}/deployments/' },
  listWorlds: { method: 'GET', path: '/api/worlds/' },
  patchApiKey: { method: 'PATCH', path: '/api/organizations/apiKeys/{apiKeyId}/', body: ['application/json'] },
  patchBotDeployment: { method: 'PATCH', path: '/api/worlds/{worldId}/bots/{botDeploymentId}/', body: ['application/json'] },
  patchLimits: { method: 'PATCH', path: '/api/organizations/{organizationId}/limits/', body: ['application/json'] },
  patchOrganization: { method: 'PATCH', path: '/api/organizations/current/', body: ['application/json'] },
  patchOrganizationById: { method: 'PATCH', path: '/api/organizations/{organizationId}/', body: ['application/json'] },
  patchProject: { method: 'PATCH', path: '/api/organizations/projects/current/', body: ['application/json'] },
  patchWorld: { method: 'PATCH', path: '/api/worlds/{worldId}/', body: ['application/json'] },
  putBuild: { method: 'PUT', path: '/api/builds/{channelId}/{tag}/', body: ['application/json'] },
  putCollection: { method: 'PUT', path: '/api/documents/collection/{id}/', body: ['application/json'] },
  putKvStore: { method: 'PUT', path: '/api/documents/kvStore/{id}/', body: ['application/json'] },
  putLiveConfig: { method: 'PUT', path: '/api/documents/liveConfig/{id}/', body: ['application/json'] },
  putOrganizationPicture: { method: 'PATCH', path: '/api/organizations/current/pictureUrl/', body: ['image/png', 'image/jpeg', 'image/webp', 'multipart/form-data'] },
  putOrganizationPictureById: { method: 'PATCH', path: '/api/organizations/{organizationId}/pictureUrl/', body: ['image/png', 'image/jpeg', 'image/webp', 'multipart/form-data'] },
  putWorldPicture: { method: 'PATCH', path: '/api/worlds/{worldId}/pictureUrl/', body: ['image/png', 'image/jpeg', 'image/webp', 'multipart/form-data'] },
  resolveBuildAndContent: { method: 'POST', path: '/api/worlds/resolveBuildAndContent/', body: ['application/json'] },
  revokeToken: { method: 'DELETE', path: '/api/users/{userId}/tokens/{tokenId}/' },
  rotateApiKey: { method: 'POST', path: '/api/organizations/apiKeys/{apiKeyId}/rotate/', body: ['application/json'] },
  startWorld: { method: 'POST', path: '/api/worlds/{worldId}/start/' },
  stopWorld: { method: 'POST', path: '/api/worlds/{worldId}/stop/' },
} as const
