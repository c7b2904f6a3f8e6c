/** A file or folder of an archive, with a relative path. An entry without content is a folder. */
export type TarEntry = { readonly path: string; readonly mode: number; readonly content?: Buffer }

const block = 512
const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`

/**
 * Returns a POSIX ustar archive with owner root and time 0, so that the same entries give the same bytes. Paths have at
 * most 255 bytes, and the part after the last slash at most 100.
 */
export const packTar = (entries: readonly TarEntry[]): Buffer =>
  Buffer.concat([...entries.flatMap((entry) => [header(entry), ...padded(entry.content)]), Buffer.alloc(2 * block)])

const padded = (content: Buffer | undefined): Buffer[] =>
  content === undefined ? [] : [content, Buffer.alloc((block - (content.length % block)) % block)]

const header = ({ path, mode, content }: TarEntry): Buffer => {
  const { name, prefix } = split(content === undefined ? `${path}/` : path)
  const bytes = Buffer.alloc(block)
  bytes.write(name, 0)
  bytes.write(octal(mode, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(content?.length ?? 0, 12), 124)
  bytes.write(octal(0, 12), 136)
  bytes.write('        ', 148)
  bytes.write(content === undefined ? '5' : '0', 156)
  bytes.write('ustar\x0000', 257)
  bytes.write(prefix, 345)
  bytes.write(
    `${octal(
      bytes.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  )
  return bytes
}

const split = (path: string): { name: string; prefix: string } => {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  const at = path.lastIndexOf('/', path.length - 2)
  const parts = { prefix: path.slice(0, at), name: path.slice(at + 1) }
  if (at < 0 || Buffer.byteLength(parts.prefix) > 155 || Buffer.byteLength(parts.name) > 100) {
    throw new Error(`The path ${path} is too long for a ustar archive`)
  }
  return parts
}
