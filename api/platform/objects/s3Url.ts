/** Where the objects are in S3; without a region, that of the AWS environment is used. */
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

/** Reads an `s3://` URL. It throws where the URL is wrong, with what would be right and without the URL itself. */
export const parseS3Url = (url: URL): S3Location => {
  const refuse = (fault: string): never => {
    throw new Error(`The URL of the object store ${fault}; it looks like ${example}`)
  }
  const value = (name: string): string | undefined => url.searchParams.get(name) || undefined
  if (url.username !== '' || url.password !== '') refuse('holds credentials, which belong in the AWS environment')
  if (!bucketPattern.test(url.host)) refuse('names no bucket')
  if (url.pathname.replace('/', '') !== '' || url.hash !== '') refuse('has a path, which belongs in its prefix')
  const names = [...url.searchParams.keys()]
  if (names.some((name) => !parameters.includes(name)) || new Set(names).size < names.length) {
    refuse(`may have ${parameters.join(', ')}, each once, and nothing else`)
  }
  const [endpoint, region, prefix = ''] = parameters.map(value)
  if (endpoint !== undefined && !isOrigin(endpoint)) refuse('has an endpoint that is no http or https origin')
  if (region !== undefined && !regionPattern.test(region)) refuse('has a region that is none')
  if (prefix !== '' && (prefix.length > maxPrefixLength || !prefixPattern.test(prefix))) refuse('has a wrong prefix')
  return { bucket: url.host, endpoint, region, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` }
}

const isOrigin = (value: string): boolean => {
  const url = URL.parse(value)
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
}
