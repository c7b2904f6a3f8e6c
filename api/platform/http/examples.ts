import { type IdKind, idPrefixes } from '#shared/ids.ts'

/** The id that stands for a thing of its kind in every example. */
export const exampleId = (kind: IdKind): string => `${idPrefixes[kind]}-01m7y9g1a7emva3288dhww2jgd`

/** The moment of every example. */
export const exampleInstant = '2026-11-21T08:00:00.000Z'

/** Where the API of every example is. */
export const exampleUrl = 'https://api.example.com'

/** The URL of a picture in every example. */
export const examplePictureUrl = (kind: IdKind): string =>
  `${exampleUrl}/api/files/pictures/${exampleId(kind)}/${'0'.repeat(64)}.webp`
