/** Returns how many rows of these sizes, in their order, fit into the bytes: at least one, whatever its size, if there is one. */
export const countFitting = (sizes: readonly number[], maxBytes: number): number => {
  let bytes = 0
  const end = sizes.findIndex((size, at) => {
    bytes += size
    return at > 0 && bytes > maxBytes
  })
  return end < 0 ? sizes.length : end
}

/** Cuts rows of these sizes into slices of at most `sliceBytes`, or of one larger row. Returns the number of rows of each slice. */
export const cutIntoSlices = (sizes: readonly number[], sliceBytes: number): number[] => {
  const slices: number[] = []
  for (let at = 0; at < sizes.length; ) {
    const count = countFitting(sizes.slice(at), sliceBytes)
    slices.push(count)
    at += count
  }
  return slices
}
