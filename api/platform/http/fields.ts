import { z } from 'zod'
import { boundedText } from '#shared/domain/common.ts'
import { type IdKind, idPattern } from '#shared/ids.ts'
import { exampleId, exampleInstant } from './examples.ts'

export { boundedText, textMap } from '#shared/domain/common.ts'

/** The schema of an id in a response. */
export const shownId = (kind: IdKind) =>
  z
    .string()
    .regex(new RegExp(idPattern(kind)))
    .meta({ examples: [exampleId(kind)] })

/** The schema of a time in a response: ISO 8601, UTC, milliseconds. */
export const shownInstant = () => z.iso.datetime({ precision: 3 }).meta({ examples: [exampleInstant] })

const hostAndPort = '[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,4})?'
const uriCharacters = `([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*`
const webUrl = new RegExp(`^https?://${hostAndPort}([/?]${uriCharacters})?$`)
const noUrl = 'must be an http or https URL, or empty'

/** The schema of an http or https URL, or of the empty string, which clears the field. */
export const urlOrEmpty = () => boundedText(2048).regex(new RegExp(`^$|${webUrl.source}`), noUrl)

/**
 * Reports whether a browser that follows the link would run it or render it as content. Like the URL parser of browsers
 * (WHATWG URL, "basic URL parser"), it ignores tabs and newlines anywhere, and leading spaces and control characters.
 */
export const hasActiveScheme = (text: string): boolean =>
  /^(?:javascript|vbscript|data):/i.test(
    text
      .slice(0, maxLinkLength)
      .replaceAll(/[\t\n\r]/g, '')
      .replace(/^[\s\p{Cc}\p{Cf}]+/u, ''),
  )

const maxLinkLength = 2048

/** The schema of a link that is shown to others: any text without a scheme that runs or carries content. */
export const linkText = () =>
  boundedText(maxLinkLength).refine(
    (text) => !hasActiveScheme(text),
    'must not have the scheme javascript, vbscript or data',
  )

/** Returns an object with the key, or an empty object if the value is null or undefined. */
export const optional = <K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } =>
  (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
