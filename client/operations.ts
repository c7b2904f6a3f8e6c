// Generated from the API's OpenAPI document by `npm run client`; change the routes there.

export type CreateOrganization = {
  name: string
  featuredEventId: string
  websiteInfo: {
    title: string
    headTags: string[]
  }
  features: {
    loginPanelDisclaimer: string
    profilePictureUpload: boolean
    hasProfilePage: boolean
    hasCollectionsPage: boolean
    hasNavigationMenu: boolean
    allowPublicReadableChat: boolean
    loginOptions: {
      hasEmail: boolean
      hasWalletA: boolean
      hasWalletB: boolean
      hasWalletC: boolean
      hasIdentityProvider: boolean
    }
    allowUserTokenManagement: boolean
    pubsub: {
      publishKey: string
      subscribeKey: string
      defaultChannels: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization: {
      unique: boolean
      pattern: string
    }
    iosNativeClientSupport: boolean
    useSignedContentDownloads: boolean
    customerConnectUrl: string
  }
  legalPolicies: {
    termsOfService: string[]
    privacyPolicy: string[]
    chatRules: string[]
    partnerPrivacyPolicy: string[]
    eula: string[]
  }
  hasEventEnabled: boolean
}

export type CreateProject = {
  name: string
}

export type CreateWorld = {
  name: string
  transient: boolean
  description: string
  pictureUrl: string
  metadata?: {
    annotations?: { [key: string]: string }
    labels?: { [key: string]: string }
  }
  manifest?: {
    serverPermissions?: string[]
    clientPermissions?: string[]
  }
  admission?: {
    policy: 'Open' | 'Queued' | 'Closed'
    capacity: number
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
    group?: 'production' | 'staging' | 'development'
    region?: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version: string
  }
  networking?: {
    strategy?: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling?: {
      profile?: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration?: null
    }
  }
  runtime?: {
    build: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    mapName?: string
    durationMinutes: number
    capacity: number
    admissionPolicy: 'Open' | 'Queued' | 'Closed'
  }
  streaming?: {
    providerA: {
      cmsId?: string
      authorizationId?: string
      launchMode?: 'same-tab' | 'new-tab' | 'embedded'
    }
    streamManager: {
      streamContextId?: string
      allowForceProvider?: boolean
      showProviderOptions?: boolean
      useBuildVersion?: boolean
    }
    providerB: {
      gameLabel?: string
      gameChannel?: string
    }
    bypassBrowserRestrictions?: boolean
    okPageUrl?: string
    errorPageUrl?: string
  }
}

export type CreatedOrganization = {
  organizationId: string
  features: {
    loginPanelDisclaimer: string
    profilePictureUpload: boolean
    hasProfilePage: boolean
    hasCollectionsPage: boolean
    hasNavigationMenu: boolean
    allowPublicReadableChat: boolean
    loginOptions: {
      hasEmail: boolean
      hasWalletA: boolean
      hasWalletB: boolean
      hasWalletC: boolean
      hasIdentityProvider: boolean
    }
    allowUserTokenManagement: boolean
    pubsub: {
      publishKey: string
      subscribeKey: string
      defaultChannels: Array<{
        read: boolean
        write: boolean
        type: string
      }>
    }
    usernameCustomization: {
      unique: boolean
      pattern: string
    }
    iosNativeClientSupport: boolean
    useSignedContentDownloads: boolean
    customerConnectUrl: string
  }
}

export type CreatedProject = {
  projectId: string
}

export type CreatedWorld = {
  worldId: string
  launchContextId: string
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
  providerAStreaming: {
    cmsId?: string
    authorizationId?: string
    launchMode?: 'same-tab' | 'new-tab' | 'embedded'
  }
  providerBStreaming: {
    gameLabel?: string
    gameChannel?: string
  }
  streamManager: {
    streamContextId?: string
    allowForceProvider?: boolean
    showProviderOptions?: boolean
    useBuildVersion?: boolean
  }
  bypassBrowserRestrictions: boolean
  enableQueue: boolean
  capacity: number
  buildInfo: {
    buildChannelId: string
    buildTag: string
    buildType: 'client' | 'server'
  }
  launchContextId: string
  worldId: string
  organizationId: string
  projectId: string
  name: string
  description: string
  pictureUrl: string
  isActive: boolean
  isPublic: boolean
  isWorldTravelOnly: boolean
  useWorldSessions: boolean
  permissionVerb: 'r' | 'w' | '*'
}

export type PatchWorld = {
  name: string
  description: string
}

export type Problem = {
  type: string
  title: string
  status: number
  detail: string
  code: string
  requestId: string
  errors: Array<{
    path: string
    message: string
  }>
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

export type World = {
  documentId: string
  organizationId: string
  projectId: string
  name: string
  description: string
  pictureUrl: string
  transient: boolean
  metadata: {
    annotations?: { [key: string]: string }
    labels?: { [key: string]: string }
  }
  compute: {
    group?: 'production' | 'staging' | 'development'
    region?: 'Europe' | 'NorthAmerica' | 'AsiaPacific'
    version: string
  }
  networking: {
    strategy?: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer'
    scaling?: {
      profile?: 'Capacity10' | 'Capacity30' | 'Capacity60' | 'Capacity100' | 'Capacity250' | 'Capacity500' | 'Capacity1000' | 'Capacity1500' | 'Capacity2500' | 'Capacity5000' | 'Capacity7500' | 'Capacity10000'
      configuration?: null
    }
  }
  runtime: {
    build: {
      channelId: string
      tag: string
    } | {
      content: {
        id: string
      }
    }
    mapName?: string
    durationMinutes: number
    capacity: number
    admissionPolicy: 'Open' | 'Queued' | 'Closed'
  }
  manifest: {
    serverPermissions?: string[]
    clientPermissions?: string[]
  }
  admission: {
    policy: 'Open' | 'Queued' | 'Closed'
    capacity: number
  }
  sessions: {
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
  status: {
    phase: 'Inactive' | 'Starting' | 'Active' | 'Stopped' | 'Error'
    message: string
    startedAt: string
    resolvedBuild: {
      channelId: string
      tag: string
      organizationId: string
      id: string
    }
    runId: string
  }
  launchContext: LaunchContext
  queueState: {
    queued: number
    active: number
  }
}

export type WorldDeployment = {
  id: string
  externalId: string
  organizationId: string
  projectId: string
  worldId: string
  runId: string
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
    version: string
  }
  runtime: {
    build: {
      channelId: string
      id: string
      content: {
        id: string
      }
    }
    mapName: string
    liveConfigUrl: string
    durationMinute: number
    args: string[]
  }
}

type None = { [name: string]: never }

/** What goes in and comes out of each operation. */
export type Operations = {
  /** Make an organization */
  createOrganization: {
    params: None
    query: None
    headers: None
    body: CreateOrganization
    answer: CreatedOrganization
  }
  /** Make a project */
  createProject: {
    params: None
    query: None
    headers: None
    body: CreateProject
    answer: CreatedProject
  }
  /** Make a world */
  createWorld: {
    params: None
    query: None
    headers: None
    body: CreateWorld
    answer: CreatedWorld
  }
  /** Delete a world */
  deleteWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Read a world */
  getWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: World
  }
  /** List the scaling profiles */
  listScalingProfiles: {
    params: None
    query: None
    headers: None
    body: undefined
    answer: ScalingProfile[]
  }
  /** List the runs of a world */
  listWorldDeployments: {
    params: {
      worldId: string
    }
    query: {
      status?: Array<'Unknown' | 'Pending' | 'Starting' | 'Running' | 'Restarting' | 'Stopping' | 'Stopped' | 'Error'>
    }
    headers: None
    body: undefined
    answer: WorldDeployment[]
  }
  /** List the worlds of an organization, or of one project of it */
  listWorlds: {
    params: None
    query: {
      limit?: number
      cursor?: string
    }
    headers: None
    body: undefined
    answer: World[]
  }
  /** Change a world */
  patchWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: PatchWorld
    answer: World
  }
  /** Start a new run of a world */
  startWorld: {
    params: {
      worldId: string
    }
    query: None
    headers: None
    body: undefined
    answer: undefined
  }
  /** Stop a world */
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

/** What a request of each operation is made of. */
export const operations = {
  createOrganization: { method: 'POST', path: '/api/organizations/', body: ['application/json'] },
  createProject: { method: 'POST', path: '/api/organizations/projects/', body: ['application/json'] },
  createWorld: { method: 'POST', path: '/api/worlds/', body: ['application/json'] },
  deleteWorld: { method: 'DELETE', path: '/api/worlds/{worldId}/' },
  getWorld: { method: 'GET', path: '/api/worlds/{worldId}/' },
  listScalingProfiles: { method: 'GET', path: '/api/worlds/scalingProfiles/' },
  listWorldDeployments: { method: 'GET', path: '/api/worlds/{worldId}/deployments/' },
  listWorlds: { method: 'GET', path: '/api/worlds/' },
  patchWorld: { method: 'PATCH', path: '/api/worlds/{worldId}/', body: ['application/json'] },
  startWorld: { method: 'POST', path: '/api/worlds/{worldId}/start/' },
  stopWorld: { method: 'POST', path: '/api/worlds/{worldId}/stop/' },
} as const
