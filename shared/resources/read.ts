import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import type { Lenient, UnreadableField } from './lenient.ts'

/** A resource with a canonical spec and a valid status. Fields that could not be read are unset and named. */
export type Readable<T> = { readonly resource: T; readonly unreadable: readonly UnreadableField[] }

/** Returns a live resource with the spec and the status that were read from it. */
export const withRead = <T extends KubeObject & { spec: object; status?: object }>(
  live: T,
  { value, unreadable }: Lenient<object>,
  readStatus: (status: unknown) => Lenient<object>,
): Readable<T> => ({
  resource: { ...live, spec: value, ...withDefined({ status: live.status && readStatus(live.status).value }) },
  unreadable,
})
