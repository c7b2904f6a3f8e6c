import { type IdKind, idPrefixes } from '#shared/ids.ts'

/** Returns the example id of a kind. */
export const exampleId = (kind: IdKind): string => `${idPrefixes[kind]}-01m7y9g1a7emva3288dhww2jgd`

/** The timestamp in all examples. */
export const exampleInstant = '2026-11-21T08:00:00.000Z'

/** The URL of the API in all examples. */
export const exampleUrl = 'https://api.example.com'

/** Returns the example URL of a picture. */
export const examplePictureUrl = (kind: IdKind): string =>
  `${exampleUrl}/api/files/pictures/${exampleId(kind)}/${'0'.repeat(64)}.webp`
