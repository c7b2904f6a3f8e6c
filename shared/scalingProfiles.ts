/** The resources of a profile as Kubernetes quantities. `capacity` is the estimated capacity and the maximum number of bots. */
export type ScalingProfile = {
  readonly name: ScalingProfileName
  readonly capacity: number
  readonly memoryLimit: string
  readonly cpuLimit: string
}

const table = [
  ['Capacity10', 10, '2Gi', '500m'],
  ['Capacity30', 30, '4Gi', '1'],
  ['Capacity60', 60, '4Gi', '1'],
  ['Capacity100', 100, '6Gi', '2'],
  ['Capacity250', 250, '8Gi', '2'],
  ['Capacity500', 500, '12Gi', '4'],
  ['Capacity1000', 1000, '16Gi', '8'],
  ['Capacity1500', 1500, '24Gi', '8'],
  ['Capacity2500', 2500, '32Gi', '12'],
  ['Capacity5000', 5000, '64Gi', '16'],
  ['Capacity7500', 7500, '96Gi', '24'],
  ['Capacity10000', 10_000, '128Gi', '32'],
] as const

/** The names of the twelve profiles, smallest first. */
export type ScalingProfileName = (typeof table)[number][0]
export const scalingProfileNames = table.map(([name]) => name) as [ScalingProfileName, ...ScalingProfileName[]]

/** The profile of a world that does not specify one. */
export const defaultScalingProfile: ScalingProfileName = 'Capacity30'

/** The profiles by name. */
export type ScalingProfiles = Readonly<Record<ScalingProfileName, ScalingProfile>>

/** The built-in profiles by name, smallest first. */
export const scalingProfiles = Object.fromEntries(
  table.map(([name, capacity, memoryLimit, cpuLimit]) => [name, { name, capacity, memoryLimit, cpuLimit }]),
) as ScalingProfiles
