/** A JSON merge patch of a map of texts. Null removes a key. */
export type MapPatch = Readonly<Record<string, string | null>>

/** A JSON merge patch of the labels of an object. */
export type LabelPatch = { readonly metadata: { readonly labels: MapPatch } }

type Texts = Readonly<Record<string, string | undefined>>

/** Returns the patch that gives each wanted key its value, and removes those whose value is undefined; undefined if none differs. */
export const patchMap = (actual: Texts = {}, wanted: Texts): MapPatch | undefined => {
  const different = Object.keys(wanted).filter((key) => actual[key] !== wanted[key])
  return different.length === 0 ? undefined : Object.fromEntries(different.map((key) => [key, wanted[key] ?? null]))
}

/** Returns the patch of the labels that differ from the wanted ones, as in `patchMap`. */
export const patchLabels = (actual: Texts | undefined, wanted: Texts): LabelPatch | undefined => {
  const changed = patchMap(actual, wanted)
  return changed && { metadata: { labels: changed } }
}
