import type { World, WorldDeployment } from '#client/operations.ts'
import { toVersion, type Version } from '../version.ts'

/** Returns a running world with the given members. */
export const aWorld = (members: Partial<World> = {}): World => ({
  documentId: 'wld-1',
  organizationId: 'org-1',
  projectId: 'prj-1',
  name: 'Lobby',
  description: '',
  transient: false,
  metadata: { annotations: {}, labels: { team: 'events' } },
  compute: { group: 'production', region: 'Europe', version: '2' },
  networking: {
    strategy: 'Default',
    ports: [{ name: 'game', containerPort: 7777, protocol: 'TCPUDP', expose: 'Public' }],
    scaling: { profile: 'Capacity30', configuration: null },
  },
  runtime: {
    build: { channelId: 'live', tag: 'v7' },
    mapName: 'dust',
    durationMinutes: 60,
    capacity: 30,
    admissionPolicy: 'Open',
  },
  manifest: { serverPermissions: [], clientPermissions: ['chat'] },
  admission: { policy: 'Open', capacity: 30 },
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
    runId: 'run-1',
    resolvedBuild: { channelId: 'live', tag: 'v7', organizationId: 'org-1', id: 'bld-1' },
    conditions: [],
  },
  launchContext: {
    publicDownload: { enabled: false, enforceAntiCheat: false, allowMac: false, allowIos: false },
    errorPageUrl: '',
    okPageUrl: '',
    bypassBrowserRestrictions: false,
    enableQueue: false,
    capacity: 30,
    launchContextId: 'lct-1',
    worldId: 'wld-1',
    organizationId: 'org-1',
    projectId: 'prj-1',
    name: 'Lobby',
    description: '',
    splashScreenUrl: '',
    isActive: true,
    isPublic: false,
    isWorldTravelOnly: false,
    useWorldSessions: true,
    permissionVerb: 'w',
  },
  queueState: { queued: 0, active: 0 },
  createdAt: '2026-11-01T00:00:00.000Z',
  updatedAt: '2026-11-01T00:00:00.000Z',
  ...members,
})

/** Returns a version of a running world. */
export const aVersion = (members: Partial<World> = {}, revision = 1): Version =>
  toVersion(aWorld(members), `"${revision}.hash"`)

/** Returns the record of the run of `aWorld`. */
export const aDeployment = (mapName = 'dust'): WorldDeployment => ({
  id: 'dep-1',
  externalId: '',
  organizationId: 'org-1',
  projectId: 'prj-1',
  worldId: 'wld-1',
  runId: 'run-1',
  createdAt: '2026-11-01T00:00:00.000Z',
  updatedAt: '2026-11-01T00:00:00.000Z',
  restarts: 0,
  status: 'Running',
  networking: { scaling: { profile: 'Capacity30' } },
  compute: { clusterName: 'default', group: 'production', region: 'Europe' },
  runtime: {
    build: { channelId: 'live', id: 'bld-1', content: { id: 'arena' } },
    mapName,
    liveConfigUrl: '',
    args: [],
  },
})
