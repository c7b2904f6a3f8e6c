import { portNamePattern } from '#shared/domain/ports.ts'
import { namePatterns } from '#shared/kube/names.ts'
import type { Json } from './fields.ts'

// The texts and numbers that the API server accepts. The patterns are valid in Go and in JavaScript.

/** A JSON Schema. */
export type Schema = { readonly [key: string]: Json }

/** Returns a pattern without its anchors. */
export const inner = (pattern: string): string => pattern.slice(1, -1)
const [label, subdomain] = [inner(namePatterns.dnsLabel), inner(namePatterns.object)]

/** Returns the schema of text that fits a pattern. */
export const like = (pattern: string, maxLength: number, more: Schema = {}): Schema => ({
  type: 'string',
  pattern: `^${pattern}$`,
  maxLength,
  ...more,
})
/** Returns the schema of a type, or an empty string. */
export const orEmpty = ({ pattern, ...schema }: Schema): Schema => ({
  ...schema,
  pattern: `^(${inner(String(pattern))})?$`,
})

/** The name of most objects: a DNS subdomain. */
export const objectName = like(subdomain, 253)
/** A DNS label, such as the name of a namespace. */
export const dnsLabel = like(label, 63)
/** A key of a label or an annotation. */
export const labelKey = like(inner(namePatterns.labelKey), 253)
/** The value of a label. */
export const labelValue = like(inner(namePatterns.labelValue), 63)
/** The key of an entry of a Secret or a ConfigMap. It is a file name, and neither "." nor begins with "..". */
export const dataKey = like('\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*', 253)
/** A host that cannot be an address: its last label begins with a letter. */
export const host = like(`(\\*\\.)?(${label}\\.)*[a-z]([-a-z0-9]*[a-z0-9])?`, 253)
const port = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
/** A Gateway with an optional listener, as `namespace/name/listener`. */
export const gateway = like(`[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/${subdomain}(/${subdomain})?`, 571)
/** The URL of worlds behind a Gateway. The asterisk stands for the id of a world. */
export const routeUrl = like(`wss?://\\*\\.${inner(namePatterns.host)}(:${port})?`, 234)
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const ipv4 = `${byte}(\\.${byte}){3}`
/** An http or https URL of a host in lower case or an address, with an optional port. */
export const origin = like(`https?://((${label}\\.)*${label}|\\[[0-9a-f:]{2,39}\\])(:${port})?/?`, 512)
const prefix6 = '(12[0-8]|1[01][0-9]|[1-9]?[0-9])'
// The first group is not 0, since the API server refuses IPv4 addresses in IPv6 form.
const start6 = '[1-9a-f][0-9a-f]{0,3}'
/** A block of addresses whose bits after the prefix are 0. */
export const cidr = {
  anyOf: [
    like(`${ipv4}/(3[0-2]|[12]?[0-9])`, 18),
    like(`${start6}(:[0-9a-f]{1,4}){7}/128`, 43),
    like(`${start6}(:[0-9a-f]{1,4}){0,2}::[0-9a-f]{1,4}(:[0-9a-f]{1,4}){0,2}/128`, 43),
    like(`(${start6}(:[0-9a-f]{1,4}){0,5}::/${prefix6}|::/0)`, 43),
  ],
} satisfies Schema
const repositoryPattern = `${label}([._]${label})*(:${port})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*`
/** An image without its tag. */
export const repository = like(repositoryPattern, 512)
/** The tag of an image. */
export const imageTag = like('[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}', 128)
/** An image: a repository with an optional registry, tag and digest. */
export const image = like(`${repositoryPattern}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?`, 1_024)
/** The size of a volume, above 0. */
export const volumeSize = like('([1-9][0-9]{0,14}|[1-9][0-9]{0,5}([kMGTP]|[KMGTP]i))', 15)
/** An absolute path, as a mount has it. */
export const absolutePath = like('/[^:\\x00-\\x1f]*', 512)

/** A quantity of bytes. */
export const bytes = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 2 ** 50 },
    like('[0-9]{1,15}', 15),
    like('[0-9]{1,6}(\\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)', 16),
  ],
} satisfies Schema
/** A quantity of CPU. */
export const cpu = {
  anyOf: [
    { type: 'number', minimum: 0, maximum: 100_000, multipleOf: 0.001 },
    like('[0-9]{1,6}(\\.[0-9]{1,3})?', 10),
    like('[0-9]{1,9}m', 10),
  ],
} satisfies Schema

/** Returns the schema of an object with these fields and no others. */
export const object = (properties: { readonly [key: string]: Schema }, required: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length === 0 ? {} : { required }),
})
/** Returns the schema of a list of at most 64 items. */
export const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', maxItems: 64, items, ...more })
/** Returns the schema of one of some texts. */
export const choice = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
/** A boolean. */
export const flag: Schema = { type: 'boolean' }
/** Returns the schema of an integer between bounds. */
export const integer = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum })
/** Any text. */
export const text: Schema = { type: 'string', maxLength: 32_768 }
/** Returns the schema of a map whose keys fit a pattern. Helm names the path of another key, unlike with `propertyNames`. */
export const map = (keys: string, values: Schema): Schema => ({
  type: 'object',
  maxProperties: 128,
  patternProperties: { [keys]: values },
  additionalProperties: false,
})

/** Labels. */
export const labels = map(namePatterns.labelKey, labelValue)
/** Annotations. */
export const annotations = map(namePatterns.labelKey, text)

const interval = `${port}(-${port})?`
/** Named ranges of host ports, each with its intervals. The processes check more at their start. */
export const hostPorts = {
  ...map(portNamePattern.source, like(`${interval}(,${interval})*`, 1_024)),
  minProperties: 1,
} satisfies Schema
