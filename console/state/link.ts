import { toVisible } from './visible.ts'

/** The longest URL that becomes a link, in characters. */
export const maxLinkLength = 2048

/**
 * Returns the URL to link to if a text is an absolute URL with http or https and without credentials. Anything else has to stay text.
 * Returns the URL as the browser reads it, with the true name of its host.
 */
export const safeLink = (text: string): string | undefined => {
  // The parser of URLs would accept https:path, and remove or encode invisible characters.
  if (text.length > maxLinkLength || text !== toVisible(text)) return undefined
  if (!/^https?:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return undefined
  const { username, password, href } = new URL(text)
  return username === '' && password === '' ? href : undefined
}
