import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '../optional.ts'
import {
  type BotDeployment,
  type BotDeploymentSpec,
  botDeploymentSpecSchema,
  botDeploymentStatusSchema,
} from './botDeployment.ts'
import { type Lenient, readLeniently, type UnreadableField } from './lenient.ts'
import { type World, type WorldSpec, worldSpecSchema, worldStatusSchema } from './world.ts'

/** A resource with a canonical spec and a valid status. Fields that could not be read are unset and named. */
export type Readable<T> = { readonly resource: T; readonly unreadable: readonly UnreadableField[] }

/** Reads the spec of a World. It never throws. */
export const readWorldSpec = (spec: unknown): Lenient<WorldSpec> => readLeniently(worldSpecSchema, spec ?? {}, {})

/** Reads the spec of a BotDeployment. It never throws. */
export const readBotSpec = (spec: unknown): Lenient<BotDeploymentSpec> =>
  readLeniently(botDeploymentSpecSchema, spec ?? {}, { worldName: 'unknown', count: 0 })

/** Reads a live World. It never throws. */
export const readWorld = (live: World): Readable<World> =>
  readResource(live, readWorldSpec(live.spec), (status) => readLeniently(worldStatusSchema, status, {}).value)

/** Reads a live BotDeployment. It never throws. */
export const readBots = (live: BotDeployment): Readable<BotDeployment> =>
  readResource(live, readBotSpec(live.spec), (status) => readLeniently(botDeploymentStatusSchema, status, {}).value)

const readResource = <T extends KubeObject & { spec: object; status?: object }>(
  live: T,
  { value, unreadable }: Lenient<object>,
  readStatus: (status: unknown) => object,
): Readable<T> => ({
  resource: { ...live, spec: value, ...withDefined({ status: live.status && readStatus(live.status) }) },
  unreadable,
})
