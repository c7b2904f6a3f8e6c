/**
 * The flags of Node with which both processes run. Young objects get 4 MiB instead of 16: more collecting than by default,
 * for a third of the memory less.
 */
export const nodeFlags = ['--max-semi-space-size=4']
