import { exampleId, exampleInstant, examplePictureUrl, exampleUrl } from '#api/platform/http/examples.ts'
import { plainSettings } from '#shared/domain/world.ts'

const metadata = { annotations: { 'example.com/ticket': 'EV-1042' }, labels: { team: 'events' } }
const compute = { group: 'production', region: 'Europe', version: 'v1' }
const ports = [
  { name: 'game', containerPort: 7777, protocol: 'UDP', expose: 'Public' },
  { name: 'query', containerPort: 27_015, protocol: 'UDP', expose: 'Internal' },
]
const networking = { strategy: 'Default', ports, scaling: { profile: 'Capacity60', configuration: null } }
const build = { channelId: 'main', tag: 'stable' }
const admission = { policy: 'Queued', capacity: 40 }
const manifest = { serverPermissions: ['chat.moderate'], clientPermissions: ['chat.write'] }
const streamingA = { cmsId: 'lobby', launchMode: 'new-tab' }

/** The example body of `createWorld`. */
export const createWorldExample = {
  name: 'Lobby',
  transient: false,
  description: 'Where everybody meets',
  metadata,
  manifest,
  admission,
  compute,
  networking,
  runtime: { build, mapName: 'hall', durationMinutes: 90 },
  streaming: { providerA: streamingA },
}

/** The example body of `patchWorld`. */
export const patchWorldExample = {
  name: 'Foyer',
  isPublic: true,
  publicDownload: { enabled: true, enforceAntiCheat: false, allowMac: true, allowIos: false },
  networking,
}

const ids = {
  worldId: exampleId('world'),
  organizationId: exampleId('organization'),
  projectId: exampleId('project'),
}

const launchContext = {
  launchContextId: exampleId('launchContext'),
  ...ids,
  name: 'Foyer',
  description: createWorldExample.description,
  splashScreenUrl: '',
  pictureUrl: examplePictureUrl('world'),
  isActive: true,
  isPublic: true,
  isWorldTravelOnly: false,
  useWorldSessions: true,
  permissionVerb: '*',
  publicDownload: patchWorldExample.publicDownload,
  errorPageUrl: '',
  okPageUrl: '',
  bypassBrowserRestrictions: false,
  enableQueue: true,
  capacity: admission.capacity,
  buildInfo: { buildChannelId: build.channelId, buildTag: build.tag, buildType: 'client' },
}

const publicWorld = {
  documentId: ids.worldId,
  organizationId: ids.organizationId,
  projectId: ids.projectId,
  name: 'Foyer',
  description: createWorldExample.description,
  pictureUrl: launchContext.pictureUrl,
  transient: false,
  metadata,
  compute,
  networking,
  ...plainSettings.parse({}),
  runtime: { ...createWorldExample.runtime, capacity: admission.capacity, admissionPolicy: admission.policy },
  admission,
  sessions: {
    controlPolicy: 'Unlimited',
    streamingTicketPredicate: '',
    flags: {
      ignoreExpiry: false,
      ignoreSlotRenewalErrors: false,
      ignoreParentMissing: false,
      useImmediateMode: false,
    },
    forceTravelWorldId: '',
  },
  status: {
    phase: 'Active',
    message: '',
    startedAt: exampleInstant,
    resolvedBuild: { ...build, organizationId: ids.organizationId, id: exampleId('build') },
    runId: exampleId('run'),
    address: { host: '192.0.2.10', port: 7777 },
    addresses: [{ name: 'game', protocol: 'UDP', host: '192.0.2.10', port: 7777 }],
    strategy: 'LoadBalancer',
    conditions: [
      { type: 'Ready', status: 'True', reason: 'ServerReady', message: '', lastTransitionAt: exampleInstant },
    ],
  },
  queueState: { queued: 0, active: 12 },
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
}

/** The world of the examples, with an active run, as its organization reads it. */
export const worldExample = {
  ...publicWorld,
  manifest,
  launchContext: { ...launchContext, providerAStreaming: { ...streamingA, authorizationId: '' } },
}

/** The world of the examples as other organizations read it. */
export const publicWorldExample = {
  ...publicWorld,
  networking: { ...networking, ports: ports.slice(0, 1) },
  launchContext: { ...launchContext, permissionVerb: 'r', providerAStreaming: streamingA },
}

/** The run of the world of the examples. */
export const deploymentExample = {
  id: exampleId('deployment'),
  externalId: '5b1f1c0e-3d55-4a53-8d0f-6f0c1f2f9a11',
  ...ids,
  runId: exampleId('run'),
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
  startedAt: exampleInstant,
  readyAt: exampleInstant,
  image: 'registry.example/game/server:1.4',
  restarts: 0,
  status: 'Running',
  networking: { scaling: { profile: networking.scaling.profile } },
  compute: { clusterName: 'default', ...compute },
  runtime: {
    build: { channelId: build.channelId, id: exampleId('build'), content: { id: 'content-42' } },
    mapName: createWorldExample.runtime.mapName,
    liveConfigUrl: `${exampleUrl}/api/documents/liveConfig/World:${ids.worldId}/`,
    durationMinute: createWorldExample.runtime.durationMinutes,
    args: [],
  },
}
