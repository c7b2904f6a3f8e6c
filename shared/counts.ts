/** Adds to the number of a name. A name with the number 0 or less is not in the map. */
export const addCount = (counts: Map<string, number>, name: string, by: number): void => {
  const sum = (counts.get(name) ?? 0) + by
  if (sum <= 0) counts.delete(name)
  else counts.set(name, sum)
}
