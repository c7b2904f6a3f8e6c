import { useLayoutEffect } from 'preact/hooks'

/**
 * Calls a function when the component is removed, to end what it began before its first render. An effect after the paint would not run
 * at all if the component is removed before it is painted.
 */
export const useEnd = (end: () => void): void => useLayoutEffect(() => end, [end])
