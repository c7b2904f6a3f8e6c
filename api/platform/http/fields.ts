import { z } from 'zod'
import { type IdKind, idPattern } from '#shared/ids.ts'
import { exampleId, exampleInstant } from './examples.ts'

/** An id in an answer. */
export const shownId = (kind: IdKind) =>
  z
    .string()
    .regex(new RegExp(idPattern(kind)))
    .meta({ examples: [exampleId(kind)] })

/** A moment in an answer: ISO 8601, UTC, milliseconds. */
export const shownInstant = () => z.iso.datetime({ precision: 3 }).meta({ examples: [exampleInstant] })

/**
 * Text of at most `max` code points, which is how the contract counts. The length is checked first, in constant time for
 * a text that is far too long, and ends the check: no pattern that follows sees a longer text.
 */
export const boundedText = (max: number) => {
  const tooLong = { message: `must have at most ${max} characters`, abort: true }
  // A code point is at most two code units.
  return z
    .string()
    .refine((value) => value.length <= 2 * max, tooLong)
    .max(max, tooLong)
}

const hostAndPort = '[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,4})?'
const uriCharacters = `([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*`
const webUrl = new RegExp(`^https?://${hostAndPort}([/?]${uriCharacters})?$`)
const noUrl = 'must be an http or https URL, or empty'

/** A web address, or nothing: the empty text clears what was set. */
export const urlOrEmpty = () => boundedText(2048).regex(new RegExp(`^$|${webUrl.source}`), noUrl)

/** A map from text to text, which users keep beside their own things. */
export const textMap = () =>
  z
    .record(boundedText(256).min(1), boundedText(4096))
    .refine((map) => Object.keys(map).length <= 256, 'must have at most 256 entries')
    .meta({ maxProperties: 256 })

/** Leaves a key out of an answer where there is nothing to show. */
export const optional = <K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } =>
  (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
