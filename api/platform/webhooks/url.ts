const label = '[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** A label that begins with a letter. A host that ends with it is never read as an IPv4 address (WHATWG URL, 3.5). */
const lastLabel = '[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
/** 443, and 1024 to 65535. */
const port =
  '(443|102[4-9]|10[3-9]\\d|1[1-9]\\d\\d|[2-9]\\d{3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])'
const characters = (more: string): string => `([A-Za-z0-9._~!$&'()*+,;=:@/${more}-]|%[0-9A-Fa-f]{2})*`

/** The longest URL of a webhook, in characters. */
export const maxUrlLength = 1_024

/**
 * The pattern of a URL to which messages may be sent: https, a host name, the port 443 or one from 1024, no credentials and no
 * fragment. An IP address is not a host name.
 */
export const urlPattern = new RegExp(
  `^https://(${label}\\.)*${lastLabel}(:${port})?(/${characters('')})?(\\?${characters('?')})?$`,
)
