import type { Limits } from '#api/domain/access/limits.ts'
import { findImageFault } from '#shared/images.ts'

const imageFaults = {
  address: 'has an IP address or a loopback name as its registry. Use a registry with a name.',
  registry: 'is not from an allowed registry. The limit imageRegistries lists them.',
} as const

/** Returns why servers of the organization may not run the image, or undefined if they may. */
export const explainImage = (
  image: string,
  { imageRegistries }: Pick<Limits, 'imageRegistries'>,
): string | undefined => {
  const fault = findImageFault(image, imageRegistries)
  return fault && `The image ${image} ${imageFaults[fault]}`
}
