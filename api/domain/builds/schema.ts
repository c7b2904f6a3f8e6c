import * as z from 'zod'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, freeText, shownId, shownInstant } from '#api/platform/http/fields.ts'

const putExample = {
  image: 'registry.example/game/server:1.4',
  contentId: 'content-42',
  digest: `sha256:${'0'.repeat(64)}`,
  probes: true,
}
const example = {
  id: exampleId('build'),
  organizationId: exampleId('organization'),
  channelId: 'main',
  tag: 'stable',
  ...putExample,
  createdAt: exampleInstant,
}

const channelText = 'Channel of the build.'
const tagText = 'Tag of the build in its channel.'
const contentIdText = 'Identifier of the content that the image holds.'
const digestText = 'Digest of the image. Without one the tag of the image decides.'
const imageText = 'Container image of the server.'
const probesText = 'True if the image serves the probes of the server contract.'

const channelId = freeText().describe(channelText)
const tag = freeText().describe(tagText)
/** A reference to a build: channel and tag, or the content of the build. */
export const buildReference = z
  .union([
    z.strictObject({ channelId, tag }).meta({ title: 'BuildByTag' }),
    z
      .strictObject({
        content: z
          .strictObject({ id: boundedText(256).min(1).describe('Identifier of the content.') })
          .describe('The content that the image holds.'),
      })
      .meta({ title: 'BuildByContent' }),
  ])
  .meta({
    id: 'BuildReference',
    examples: [{ channelId: example.channelId, tag: example.tag }, { content: { id: 'content-42' } }],
  })
/** The build of a run in responses. */
export const resolvedBuild = z.object({
  channelId: boundedText(256).describe(channelText),
  tag: boundedText(256).describe(tagText),
  organizationId: boundedText(256).describe('Identifier of the organization.'),
  id: shownId('build'),
})

/** The path parameters of a build. */
export const buildParams = z.object({
  channelId: channelId.meta({ examples: [example.channelId] }),
  tag: tag.meta({ examples: [example.tag] }),
})

const image = () =>
  boundedText(512)
    .regex(/^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$/, 'must be an image reference')
    .meta({ description: imageText, examples: [putExample.image] })
const digest = boundedText(71)
  .regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: followed by 64 hexadecimal digits')
  .describe(digestText)

/** The body of `PUT /api/builds/{channelId}/{tag}/`. */
export const putBuildBody = z
  .strictObject({
    image: image(),
    contentId: boundedText(256)
      .min(1)
      .meta({ description: contentIdText, examples: [putExample.contentId] }),
    digest: digest.exactOptional(),
    probes: z.boolean().default(true).describe(probesText),
  })
  .meta({ id: 'PutBuild', examples: [putExample] })

/** A build in responses. */
export const buildAnswer = z
  .object({
    id: shownId('build'),
    organizationId: shownId('organization'),
    channelId: z.string().describe(channelText),
    tag: z.string().describe(tagText),
    image: z.string().describe(imageText),
    contentId: z.string().describe(contentIdText),
    digest: z.string().exactOptional().describe(digestText),
    probes: z.boolean().describe(probesText),
    createdAt: shownInstant('Time of the creation.'),
  })
  .meta({ id: 'Build', examples: [example] })

export type BuildReference = z.output<typeof buildReference>
export type ResolvedBuild = z.output<typeof resolvedBuild>
export type PutBuild = z.output<typeof putBuildBody>
export type BuildAnswer = z.output<typeof buildAnswer>

/** The program of a server: the image, with its digest if one is set, its content, and whether it serves probes. */
export type BuildPackage = { readonly image: string; readonly contentId: string; readonly probes: boolean }
