/** A span of another process, as the header `traceparent` names it. */
export type RemoteSpan = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

/** Version 00 has exactly these fields. A later version may append more, after a dash (W3C Trace Context, section 3.2). */
const pattern = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/

/** Parses a `traceparent` of at most 256 characters. Returns undefined for any other text. */
export const parseTraceparent = (text: string | undefined): RemoteSpan | undefined => {
  const [, version, traceId, spanId, flags, rest] = pattern.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (version === '00' && rest !== undefined) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Returns the `traceparent` of a span, of version 00. */
export const formatTraceparent = ({ traceId, spanId, isSampled }: RemoteSpan): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
