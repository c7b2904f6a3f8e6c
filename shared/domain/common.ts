import * as z from 'zod'
import { type IdKind, idPattern } from '#shared/ids.ts'

// Fragments from which REST bodies, resources and tables are composed. A fragment has a type, its limits and the
// description that users read; a view adds its default, its examples, and whether it is optional.

/**
 * Text of at most `max` code points, which is how the contract and the API server count. The length is checked first, and a
 * longer text is refused at once, in constant time if it is far too long. No later pattern sees it.
 */
export const boundedText = (max: number) => {
  const tooLong = { message: `must have at most ${max} characters`, abort: true }
  // A code point is at most two code units.
  return z
    .string()
    .refine((value) => value.length <= 2 * max, tooLong)
    .max(max, tooLong)
}

/** The words for the kinds of entity that are not called by the name of their kind. */
const kindWords: Partial<Record<IdKind, string>> = {
  launchContext: 'launch context',
  bot: 'bot deployment',
  apiKey: 'API key',
  audit: 'audit record',
}

/** An identifier of an entity of one kind. */
export const idField = (kind: IdKind) =>
  z
    .string()
    .regex(new RegExp(idPattern(kind)))
    .describe(`Identifier of the ${kindWords[kind] ?? kind}.`)

const startsWithYearInRange = /^(?:19[7-9]|[2-9]\d\d)\d-/

/** The pattern of the years of an instant, before its offset is applied. */
export const instantYears = startsWithYearInRange.source

/**
 * An instant as ISO 8601 text with an offset, in the years 1970 to 9999 in UTC. Instants outside them do not survive the way
 * through the database: the year 0049 is read as 2049, and later years than 9999 cannot be read.
 */
export const instant = () =>
  z.iso
    .datetime({ offset: true })
    .refine(
      (text) => startsWithYearInRange.test(new Date(text).toJSON() ?? ''),
      'must be in the years 1970 to 9999 in UTC',
    )

const maxMapEntries = 256

/** A map from text to text: at most 256 entries, keys of 1 to 256 and values of at most 4,096 characters. */
const textMap = () =>
  z
    .record(boundedText(256).min(1), boundedText(4096))
    .refine((map) => Object.keys(map).length <= maxMapEntries, `must have at most ${maxMapEntries} entries`)
    .meta({ maxProperties: maxMapEntries })

/** Annotations and labels that users keep on a REST resource. They never become Kubernetes annotations or labels. */
export const metadataFields = {
  annotations: textMap().describe('Arbitrary notes of the owner. Orrery stores them and does not interpret them.'),
  labels: textMap().describe('Arbitrary marks of the owner. Lists of worlds can be filtered by the labels of worlds.'),
}

/** Arguments of a container: at most 64, of at most 4,096 characters each. */
export const containerArgs = z
  .array(boundedText(4096))
  .max(64)
  .describe("Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded.")

/** The most bytes of UTF-8 that the annotations and labels of a resource have together, keys included. */
export const maxMetadataBytes = 32 * 1024

/** The most bytes of a world's manifest as JSON. */
export const maxManifestBytes = 64 * 1024

/** The most bytes of UTF-8 that the arguments of a container have together. */
export const maxArgsBytes = 16 * 1024

const bytesOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

/** Adds `maxMetadataBytes` to a schema of annotations and labels. */
export const withinMetadataLimit = <S extends z.ZodType<{ annotations: object; labels: object }>>(schema: S): S =>
  schema.refine(
    ({ annotations, labels }) =>
      bytesOf([...Object.entries(annotations), ...Object.entries(labels)].flat()) <= maxMetadataBytes,
    `must have at most ${maxMetadataBytes} bytes of annotations and labels together`,
  )

/** The bytes of a value as JSON in UTF-8. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Adds a maximum of bytes as JSON to a schema. */
export const withinJsonBytes = <S extends z.ZodType>(maxBytes: number, schema: S): S =>
  schema.refine((value) => jsonBytes(value) <= maxBytes, `must have at most ${maxBytes} bytes as JSON`)

/** Adds `maxArgsBytes` to a schema of arguments. */
export const withinArgsLimit = <S extends z.ZodType<string[]>>(schema: S): S =>
  schema.refine((args) => bytesOf(args) <= maxArgsBytes, `must have at most ${maxArgsBytes} bytes together`)

/** The length of a run in minutes, also fractions of them: above 0, at most 5,256,000 (10 years). */
export const durationMinutes = z.number().gt(0).max(5_256_000)

/** The minutes without players after which a run ends: at least 1, at most 43,200 (30 days). */
export const idleMinutes = z.int().min(1).max(43_200)
