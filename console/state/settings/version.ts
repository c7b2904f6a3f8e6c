import type { PatchWorld, World } from '#client/operations.ts'
import { type Field, fields } from './fields.ts'
import { writeValue } from './forms.ts'

/** A version of a world, as it was read with its entity tag, and the texts of its settings by id. */
export type Version = {
  readonly etag: string
  readonly world: World
  readonly texts: Readonly<Record<string, string>>
}

/** Returns a version of a world. A proxy that compresses may have made its entity tag a weak one, which no condition may have. */
export const toVersion = (world: World, etag: string): Version => {
  const settings = settingsOf(world)
  const texts = fields.map(({ id, kind, absent }) => [id, writeValue(kind, valueAt(settings, id) ?? absent)])
  return { etag: etag.replace(/^W\//, ''), world, texts: Object.fromEntries(texts) as Record<string, string> }
}

/** Returns the revision in an entity tag, which is its number before the dot. */
const revisionOf = ({ etag }: Version): number => Number(/^"(\d+)\./.exec(etag)?.[1] ?? 0)

/** Reports whether a version has an older revision than another one, so that an answer that comes late is ignored. */
export const isOlder = (version: Version, than: Version): boolean => revisionOf(version) < revisionOf(than)

/** Reports whether two versions have the same settings, also those that the page does not show. */
export const isAlike = (one: Version, other: Version): boolean =>
  JSON.stringify(settingsOf(one.world)) === JSON.stringify(settingsOf(other.world))

/** Returns the settings that differ between two versions. */
export const differencesOf = (one: Version, other: Version): readonly Field[] =>
  fields.filter(({ id }) => one.texts[id] !== other.texts[id])

/** Returns the settings of a world in the form of a PATCH, whose objects are whole. The copies in `runtime` are left out. */
export const settingsOf = ({
  name,
  description,
  pictureUrl = '',
  metadata,
  manifest,
  admission,
  compute,
  networking,
  runtime: { capacity: _, admissionPolicy: __, ...runtime },
  launchContext: {
    isPublic,
    publicDownload,
    providerAStreaming: providerA,
    providerBStreaming: providerB,
    streamManager,
    bypassBrowserRestrictions,
    okPageUrl,
    errorPageUrl,
  },
}: World): Required<PatchWorld> => ({
  name,
  description,
  pictureUrl,
  isPublic,
  metadata,
  manifest,
  admission,
  compute,
  networking,
  runtime,
  streaming: {
    ...(providerA && { providerA }),
    ...(providerB && { providerB }),
    ...(streamManager && { streamManager }),
    bypassBrowserRestrictions,
    okPageUrl,
    errorPageUrl,
  },
  publicDownload,
})

/** Returns the value at a path such as `networking.ports`. */
export const valueAt = (settings: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], settings)
