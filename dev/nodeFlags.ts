/**
 * The flags of Node with which both processes run. Young objects get 8 MiB instead of 16: a little more collecting than by
 * default, for less memory. The heap may have 1 GiB: V8 lets the garbage of a heap that may have more grow to
 * several times what lives, and an operator of 5,000 worlds has 90 MB that lives.
 */
export const nodeFlags = ['--max-semi-space-size=8', '--max-old-space-size=1024']
