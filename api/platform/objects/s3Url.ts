/** The location of the objects in S3. Without a region, that of the AWS environment is used. */
export type S3Location = {
  readonly bucket: string
  readonly endpoint: string | undefined
  readonly region: string | undefined
  /** Empty, or ending with a slash. */
  readonly prefix: string
}

const example = 's3://bucket?endpoint=https://host&region=us-east-1&prefix=folder/'
const parameters = ['endpoint', 'region', 'prefix']
const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const regionPattern = /^[a-z0-9-]{1,64}$/
const prefixPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*\/?$/
const maxPrefixLength = 256

/** Parses an `s3://` URL. Throws if it is invalid; the message shows an example and never the URL itself. */
export const parseS3Url = (url: URL): S3Location => {
  const refuse = (fault: string): never => {
    throw new Error(`The URL of the object store ${fault}. Example: ${example}`)
  }
  const value = (name: string): string | undefined => url.searchParams.get(name) || undefined
  if (url.username !== '' || url.password !== '') refuse('contains credentials, which belong in the AWS environment')
  if (!bucketPattern.test(url.host)) refuse('has no valid bucket name')
  if (url.pathname.replace('/', '') !== '' || url.hash !== '') refuse('has a path; use the parameter prefix')
  const names = [...url.searchParams.keys()]
  if (names.some((name) => !parameters.includes(name)) || new Set(names).size < names.length) {
    refuse(`has an unknown or repeated parameter; the parameters are ${parameters.join(', ')}`)
  }
  const [endpoint, region, prefix = ''] = parameters.map(value)
  if (endpoint !== undefined && !isOrigin(endpoint)) refuse('has an endpoint that is not an http or https origin')
  if (region !== undefined && !regionPattern.test(region)) refuse('has an invalid region')
  if (prefix !== '' && (prefix.length > maxPrefixLength || !prefixPattern.test(prefix))) refuse('has an invalid prefix')
  return { bucket: url.host, endpoint, region, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` }
}

const isOrigin = (value: string): boolean => {
  const url = URL.parse(value)
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
}
