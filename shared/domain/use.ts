/** Amounts that limits bound, by kind. */
export type Amounts<Use> = { readonly [Kind in keyof Use]: number }

const combine = <Use extends Amounts<Use>>(a: Use, b: Use, of: (a: number, b: number) => number): Use => {
  const kinds = Object.keys(a) as (keyof Use)[]
  return Object.fromEntries(kinds.map((kind) => [kind, of(a[kind], b[kind])])) as Use
}

/** Returns the sum of two uses. */
export const addUse = <Use extends Amounts<Use>>(a: Use, b: Use): Use => combine(a, b, (one, other) => one + other)

/** Returns the higher of two values of each kind: the use of two things of which only one exists at a time. */
export const maxUse = <Use extends Amounts<Use>>(a: Use, b: Use): Use => combine(a, b, Math.max)
