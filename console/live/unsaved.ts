let count = (): number => 0

/** Names the function that counts the edits of the session that the sign-out would lose. The page of a world has it, and is loaded late. */
export const countUnsavedWith = (counted: () => number): void => {
  count = counted
}

/** Returns the number of edits of the session that the sign-out would lose. */
export const countUnsaved = (): number => count()
