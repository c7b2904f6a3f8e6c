import * as z from 'zod'
import { type Checksum, cacheProgram, fetchFile, fetchText } from './download.ts'
import type { Binary } from './hosts.ts'
import { platform, releaseHosts, type Source } from './hosts.ts'

/** Kubernetes releases its servers for Linux only. */
const ofKubernetes: readonly Binary[] =
  platform.os === 'linux'
    ? ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kubelet', 'kube-proxy']
    : ['kubectl']
const kwokSchema = z.object({
  assets: z.array(z.object({ name: z.string(), browser_download_url: z.url(), digest: z.string().nullish() })),
})

/** Downloads the programs that Kubernetes releases, each with the checksum beside it. */
export const fromKubernetesRelease: Source = async ({ names, cache, release: { version }, env, progress }) => {
  const base = `${releaseHosts(env).kubernetes}/v${version}/bin/${platform.os}/${platform.architecture}`
  for (const name of names.filter((each) => ofKubernetes.includes(each))) {
    const stated = await fetchText(`${base}/${name}.sha512`)
    const hex = /^[0-9a-f]{128}\b/i.exec(stated?.trim() ?? '')?.[0]
    if (hex === undefined) return `the release of Kubernetes: ${base}/${name}.sha512 did not answer with a checksum`
    const why = await download({
      url: `${base}/${name}`,
      checksum: { algorithm: 'sha512', hex },
      name,
      cache,
      progress,
    })
    if (why !== undefined) return `the release of Kubernetes: ${why}`
  }
  return undefined
}

/** Downloads kwok, with the digest that GitHub publishes. Without a digest it is not used. */
export const fromKwokRelease: Source = async ({ names, cache, env, progress }) => {
  if (!names.includes('kwok')) return undefined
  const { kwokRelease } = releaseHosts(env)
  const text = await fetchText(kwokRelease)
  const { data } = kwokSchema.safeParse(parsed(text))
  if (data === undefined) return `the release of kwok: ${kwokRelease} did not answer`
  const file = data.assets.find(({ name }) => name === `kwok-${platform.os}-${platform.architecture}`)
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(file?.digest ?? '')?.[1]
  if (file === undefined || hex === undefined) {
    return `the release of kwok: ${kwokRelease} names no file with a digest for ${platform.os}-${platform.architecture}`
  }
  const checksum = { algorithm: 'sha256', hex } as const
  const why = await download({ url: file.browser_download_url, checksum, name: 'kwok', cache, progress })
  return why === undefined ? undefined : `the release of kwok: ${why}`
}

const download = async (of: {
  url: string
  checksum: Checksum
  name: Binary
  cache: string
  progress: (line: string) => void
}): Promise<string | undefined> => {
  of.progress(`downloading ${of.url}`)
  const bytes = await fetchFile(of.url, of.checksum)
  if (bytes === undefined) return `${of.url} could not be downloaded`
  cacheProgram(of.cache, of.name, bytes)
  return undefined
}

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
