/** Returns the items of which one of the texts contains a text, in any case of letters. All of them for an empty text. */
export const matchText = <T>(
  items: readonly T[],
  text: string,
  textsOf: (item: T) => readonly string[],
): readonly T[] => {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return items
  return items.filter((item) => textsOf(item).some((each) => each.toLowerCase().includes(wanted)))
}
