import { isIP } from 'node:net'
import { boundedText } from './domain/common.ts'

/** The registry of an image, with its port if it names one, and the repository in it. */
export type ImageName = { readonly registry: string; readonly repository: string }

const dockerHub = 'docker.io'

/** Returns the registry and the repository of an image reference, as container runtimes read it. */
export const parseImage = (image: string): ImageName => {
  const [name = ''] = image.split('@', 1)
  const slash = name.indexOf('/')
  const first = name.slice(0, Math.max(0, slash))
  // The rule of Docker: what has no dot, port or upper-case letter is a part of the repository.
  const isHost = /[.:[\]]/.test(first) || first === 'localhost' || first !== first.toLowerCase()
  const path = (isHost ? name.slice(slash + 1) : name).replace(/:[^/:]*$/, '')
  const host = isHost ? first.toLowerCase() : dockerHub
  const registry = host === 'index.docker.io' ? dockerHub : host
  return { registry, repository: registry === dockerHub && !path.includes('/') ? `library/${path}` : path }
}

/** Reports whether a host, with or without a port, is an IP address in any notation, or a name of the machine itself. */
const isAddress = (registry: string): boolean => {
  if (registry.startsWith('[')) return true
  const host = registry.replace(/:\d*$/, '').replace(/\.+$/, '')
  const last = host.split('.').at(-1) ?? ''
  // A name whose last part is a number is an IPv4 address, as in the URL standard: 127.1, 0x7f000001, 2130706433.
  if (isIP(host) !== 0 || /^(\d+|0x[0-9a-f]*)$/.test(last)) return true
  return last === 'localhost' || ['localhost.localdomain', 'ip6-localhost', 'ip6-loopback'].includes(host)
}

/** The entry that allows every registry with a name. */
export const anyRegistry = '*'

/** An allowed registry: a host with an optional port and an optional path, such as `ghcr.io/acme`, or `*` for all. */
export const registryEntry = boundedText(255)
  .regex(
    /^(\*|[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?(\/[a-z0-9._-]{1,128}){0,8})$/,
    'must be a registry such as registry.example, registry.example:5000 or ghcr.io/acme, or *',
  )
  .refine(
    (entry) => entry === anyRegistry || !isAddress(entry.split('/', 1)[0] ?? ''),
    'must be a registry with a name, which is neither an IP address nor a loopback name',
  )

/** The reason why an image may not run: its registry is an address, or it is not among the allowed ones. */
export type ImageFault = 'address' | 'registry'

/** Returns why an image may not run with these allowed registries, or undefined if it may. */
export const findImageFault = (image: string, registries: readonly string[]): ImageFault | undefined => {
  const { registry, repository } = parseImage(image)
  if (isAddress(registry)) return 'address'
  const isAllowed = registries.some((entry) => {
    const [host = '', ...path] = entry.split('/')
    const folder = path.join('/')
    return (
      entry === anyRegistry ||
      (host === registry && (folder === '' || repository === folder || repository.startsWith(`${folder}/`)))
    )
  })
  return isAllowed ? undefined : 'registry'
}
