/** `T` whose members that may be undefined are optional instead: a type for `exactOptionalPropertyTypes`. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Returns the object without the members with these names. The result is a new object. */
export const without = <T extends object, K extends keyof T>(object: T, names: readonly K[]): Omit<T, K> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name as K))) as Omit<T, K>

/** Returns the object without its undefined members. The result is a new object; null and empty members stay. */
export const withDefined = <T extends object>(object: T): Defined<T> => {
  const result: Record<string, unknown> = {}
  for (const key in object) {
    const value = object[key]
    if (value !== undefined) result[key] = value
  }
  return result as Defined<T>
}
