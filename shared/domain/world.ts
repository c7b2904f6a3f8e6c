import * as z from 'zod'
import { computeGroups, computeRegions, networkingStrategies, worldStates } from '#shared/enumerations.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { defaultScalingProfile, scalingProfileNames } from '#shared/scalingProfiles.ts'
import { boundedText, containerArgs, durationMinutes } from './common.ts'
import { checkRoute, worldPorts } from './ports.ts'
import { serverQuery } from './query.ts'

/** The fields of a world that REST, the World resource and the tables share: type, limits and description. */
export const worldFields = {
  displayName: boundedText(64).describe('The name that users see. It does not have to be unique.'),
  description: boundedText(256).describe('Text that describes the world to users.'),
  state: z
    .enum(worldStates)
    .describe('The desired state. Running starts a run if none is active; Stopped ends it and removes its server.'),
  transient: z
    .boolean()
    .describe('Deletes the world after durationMinutes, once its server has stopped. Without a duration it is kept.'),
  durationMinutes: durationMinutes.describe(
    'Minutes from the start of a run until it is stopped. If absent, a run has no time limit.',
  ),
  profile: z.enum(scalingProfileNames).describe('Scaling profile: the CPU, the memory and the capacity of the server.'),
  group: z.enum(computeGroups).describe('Kind of compute to run on. Group and region select the cluster.'),
  region: z.enum(computeRegions).describe('Region to run in. Group and region select the cluster.'),
  strategy: z
    .enum(networkingStrategies)
    .describe(
      "Access to the public ports for players: a Service of type ClusterIP, NodePort or LoadBalancer, ports of the node, a host name of a Gateway for browsers, or the operator's default.",
    ),
  image: boundedText(1024)
    .regex(new RegExp(namePatterns.image), 'must be a container image without spaces')
    .describe("Container image of the server. If absent, the operator's default server image is used."),
  contentId: boundedText(256).describe('Identifier of the content that the image holds.'),
  capacity: z
    .int()
    .min(1)
    .max(10_000)
    .describe('Maximum number of players in the world. If absent, it is the capacity of the scaling profile.'),
  probes: z
    .boolean()
    .describe(
      'Probes /readyz and /healthz on port 8080 of the container. If false, the server is Ready once its container runs.',
    ),
  args: containerArgs,
}

/**
 * The settings in `runtime`. Besides what every setting of `serverSettings` gets, the environment of the server derives from
 * the texts in this object. A captured run contains them without `runtime`.
 */
export const runtimeSettings = z.object({
  mapName: boundedText(256).describe('Name of the map that the server loads.').default(''),
  query: serverQuery.exactOptional(),
})

/**
 * The settings of a server that REST, the World resource and the row have in the same place, with their defaults. A run keeps
 * them from its start. The resource, pushes, edits with kubectl, pending edits in `status.message` and the captured run derive
 * from this object. Parsing a row or a spec returns the settings alone, with defaults for those that it lacks.
 */
export const serverSettings = z.object({
  compute: z
    .object({ group: worldFields.group.default('production'), region: worldFields.region.default('Europe') })
    .prefault({})
    .describe('Location of the server. Changes take effect with the next run.'),
  networking: z
    .object({ strategy: worldFields.strategy.default('Default'), ports: worldPorts })
    .superRefine(checkRoute)
    .prefault({})
    .describe('Network access to the server. Changes take effect with the next run.'),
  runtime: runtimeSettings.prefault({}),
})

export type PlainSettings = Omit<z.output<typeof serverSettings>, 'compute' | 'networking' | 'runtime'>
/** The settings that the row, the spec and the captured run have in the same form. The others have more fields beside them. */
export const plainSettings: z.ZodType<PlainSettings> = serverSettings.omit({
  compute: true,
  networking: true,
  runtime: true,
})

/** Settings as they may be written: those with a default are optional. */
export type ServerSettings = z.input<typeof serverSettings>

/** Returns the environment variable in which servers get a runtime setting: `ORRERY_MAP_NAME` for `mapName`. */
export const settingVariable = (setting: string): string =>
  `ORRERY_${setting.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** Returns the words for a runtime setting in messages: `map` for `mapName`. */
export const settingWords = (setting: string): string =>
  setting.replace(/Name$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** The values of world fields that are absent. */
export const worldDefaults = {
  state: 'Stopped',
  profile: defaultScalingProfile,
} as const
