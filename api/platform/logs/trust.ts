/** The codes of Node and OpenSSL for a certificate that no trusted authority has signed. */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
])

/** The settings that a certificate of the operator is checked against. */
type Trust = { readonly host: string; readonly caFile: string | undefined }

/**
 * Returns why the operator's log server cannot be trusted and what to do, for the API's log. Undefined for an error of another
 * kind, such as a connection that is refused.
 */
export const explainDistrust = (error: unknown, { host, caFile }: Trust): string | undefined => {
  const { code, path } = error as { readonly code?: unknown; readonly path?: unknown }
  if (typeof code !== 'string') return undefined
  if (untrusted.has(code)) {
    const authority = caFile === undefined ? 'an authority of the system' : `the authority in ${caFile}`
    return `The certificate of the operator's log server is not signed by ${authority}. Check ORRERY_OPERATOR_CA_FILE.`
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `The certificate of the operator's log server is not valid for ${host}. Check ORRERY_OPERATOR_URL and the names in the certificate.`
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return "The certificate of the operator's log server is not valid at this time. Renew it, and check the clocks."
  }
  if (caFile !== undefined && path === caFile)
    return `The file ${caFile} cannot be read (${code}). Check ORRERY_OPERATOR_CA_FILE.`
  return undefined
}
