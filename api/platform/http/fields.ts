import * as z from 'zod'
import { boundedText, idField } from '#shared/domain/common.ts'
import type { IdKind } from '#shared/ids.ts'
import { exampleId, exampleInstant } from './examples.ts'

export { boundedText } from '#shared/domain/common.ts'

/** The maximum length of names for which the contract states none, in code points. */
export const maxNameLength = 1_024

/** The source of a regular expression for one control character (Unicode category Cc). */
const controlCharacters = '\\u0000-\\u001f\\u007f-\\u009f'

/** The schema of an identifier that the caller chooses: 1 to 128 code points without control characters. */
export const freeText = () =>
  boundedText(128)
    .regex(new RegExp(`^[^${controlCharacters}]+$`), 'must have at least one character, and no control characters')
    .meta({ minLength: 1 })

/** The schema of an id in a response. */
export const shownId = (kind: IdKind) => idField(kind).meta({ examples: [exampleId(kind)] })

/** The schema of a time in a response: ISO 8601, UTC, milliseconds. */
export const shownInstant = (description: string) =>
  z.iso.datetime({ precision: 3 }).meta({ description, examples: [exampleInstant] })

/** The text for the name of an organization, a project or a world. */
const nameText = 'Name for people. It does not have to be unique.'

/** The schema of the name of an organization or a project. */
export const nameField = (example: string) =>
  boundedText(maxNameLength)
    .min(1)
    .meta({ description: nameText, examples: [example] })

/** The schema of a name in a response. */
export const shownName = z.string().describe(nameText)

/** The schema of a description in a response. */
export const shownDescription = z.string().describe('Text that describes it to users. Empty if there is none.')

/** The schema of the URL of a picture in a response. */
export const shownPicture = z.string().exactOptional().describe('Absolute URI of the picture. Absent if there is none.')

/** The schema of the verb that the caller has on the resource of a response. */
export const shownVerb = z
  .enum(['r', 'w', '*'])
  .describe('The strongest verb of the caller on the resource: r, w or *.')

/** The characters of RFC 3986, appendix A; `more` are further ones that a part of the URI allows. */
const characters = (more: string): string => `([A-Za-z0-9._~!$&'()*+,;=${more}-]|%[0-9A-Fa-f]{2})*`
const host = `(\\[[0-9A-Fa-fv:.]+\\]|${characters('')})`
const authority = `(${characters(':')}@)?${host}(:[0-9]*)?`
const path = characters(':@/')
const query = characters(':@/?')
const withHost = '(?![Hh][Tt][Tt][Pp][Ss]?:(?!//[^/?#]))'
const uri = `${withHost}[A-Za-z][A-Za-z0-9+.-]*:(//${authority}(/${path})?|(?!//)${path})(\\?${query})?(#${query})?`

/**
 * The schema of an absolute URI (RFC 3986) without a scheme that runs or carries content, or of the empty string, which
 * clears the field.
 */
export const uriOrEmpty = () =>
  boundedText(maxLinkLength)
    .regex(new RegExp(`^$|^${uri}$`), 'must be an absolute URI, such as https://example.com/picture.png, or empty')
    .refine((text) => !hasActiveScheme(text), activeScheme)

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
export const linkText = () => boundedText(maxLinkLength).refine((text) => !hasActiveScheme(text), activeScheme)

const activeScheme = 'must not have the scheme javascript, vbscript or data'

/** Returns an object with the key, or an empty object if the value is null or undefined. */
export const optional = <K extends string, V>(key: K, value: V | null | undefined): { [P in K]?: V } =>
  (value === null || value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
