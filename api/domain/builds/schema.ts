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

/** The name of a channel or a tag. */
const buildName = freeText()
/** A reference to a build: channel and tag, or the content of the build. */
export const buildReference = z
  .union([
    z.strictObject({ channelId: buildName, tag: buildName }).meta({ title: 'BuildByTag' }),
    z.strictObject({ content: z.strictObject({ id: boundedText(256).min(1) }) }).meta({ title: 'BuildByContent' }),
  ])
  .meta({
    id: 'BuildReference',
    examples: [{ channelId: example.channelId, tag: example.tag }, { content: { id: 'content-42' } }],
  })
/** The build of a run in responses. */
export const resolvedBuild = z.object({
  channelId: boundedText(256),
  tag: boundedText(256),
  organizationId: boundedText(256),
  id: shownId('build'),
})

/** The path parameters of a build. */
export const buildParams = z.object({
  channelId: buildName.meta({ examples: [example.channelId] }),
  tag: buildName.meta({ examples: [example.tag] }),
})

const image = () =>
  boundedText(512)
    .regex(/^[a-z0-9]([a-z0-9._:/-]*[a-z0-9])?(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$/, 'must be an image reference')
    .meta({ examples: [putExample.image] })
const digest = () => boundedText(71).regex(/^sha256:[0-9a-f]{64}$/, 'must be sha256: followed by 64 hexadecimal digits')

/** The body of `PUT /api/builds/{channelId}/{tag}/`. */
export const putBuildBody = z
  .strictObject({
    image: image(),
    contentId: boundedText(256)
      .min(1)
      .meta({ examples: [putExample.contentId] }),
    digest: digest().exactOptional(),
    probes: z
      .boolean()
      .default(true)
      .meta({ description: 'True if the image serves the probes of the server contract.' }),
  })
  .meta({ id: 'PutBuild', examples: [putExample] })

/** A build in responses. */
export const buildAnswer = z
  .object({
    id: shownId('build'),
    organizationId: shownId('organization'),
    channelId: z.string(),
    tag: z.string(),
    image: z.string(),
    contentId: z.string(),
    digest: z.string().exactOptional(),
    probes: z.boolean(),
    createdAt: shownInstant(),
  })
  .meta({ id: 'Build', examples: [example] })

export type BuildReference = z.output<typeof buildReference>
export type ResolvedBuild = z.output<typeof resolvedBuild>
export type PutBuild = z.output<typeof putBuildBody>
export type BuildAnswer = z.output<typeof buildAnswer>

/** The program of a server: the image, with its digest if one is set, its content, and whether it serves probes. */
export type BuildPackage = { readonly image: string; readonly contentId: string; readonly probes: boolean }
