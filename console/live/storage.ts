/** All that the console stores, in the storage of the tab: a key or token if the user asked for it, and the sign-in that an issuer answers. */
type Name = 'orrery.key' | 'orrery.token' | 'orrery.signIn'

/** Returns what the tab stores. A browser that blocks the storage of sites stores nothing, and the console works without it. */
export const stored = (name: Name): string | undefined => {
  try {
    return sessionStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a text, or removes it. Reports whether the browser permits that. */
export const store = (name: Name, text: string | undefined): boolean => {
  try {
    if (text === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, text)
    return true
  } catch {
    return false
  }
}
