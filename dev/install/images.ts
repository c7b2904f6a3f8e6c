import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { PackedImage } from '#dev/images/image.ts'
import type { Machine } from './machine.ts'

/** The images of one version of the product. */
export type Images = Readonly<Record<'orrery' | 'world-server' | 'bot', PackedImage>>

/**
 * Packs and imports the images of a checkout, with the code of that checkout. Images are named by their content, so those
 * of two versions do not replace each other.
 */
export const importImages = async (machine: Machine, checkout: string): Promise<Images> => {
  const script = `
    import { packProductImages } from ${JSON.stringify(join(checkout, 'dev/images/image.ts'))}
    const names = ['orrery', 'world-server', 'bot']
    console.log(JSON.stringify(await packProductImages(${JSON.stringify(join(machine.stateDir, 'images'))}, names)))`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: checkout })
  const images = JSON.parse(stdout) as Images
  for (const image of Object.values(images)) await machine.importImage(image)
  return images
}

/** Returns the values of the chart for images that are in the node, and for the requests of a small node. */
export const imageValues = (images: Images): object => {
  const imageOf = (name: keyof Images): object => {
    const [repository, tag] = images[name].reference.split(':')
    return { repository, tag }
  }
  return {
    image: imageOf('orrery'),
    worldServer: { image: imageOf('world-server') },
    bot: { image: imageOf('bot') },
    imagePullPolicy: 'Never',
    operator: {
      settings: { cpuRequestRatio: 0.02, memoryRequestRatio: 0.02 },
      // The chart of the previous version may not have this setting.
      extraEnv: [{ name: 'ORRERY_IMAGE_PULL_POLICY', value: 'Never' }],
      resources: { requests: { cpu: '10m' } },
    },
    api: { resources: { requests: { cpu: '10m' } } },
  }
}
