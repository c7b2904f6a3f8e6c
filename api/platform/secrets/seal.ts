import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A key-encryption key. Its id is stored with each sealed text. */
export type EncryptionKey = { readonly id: string; readonly key: Buffer }

/** Encrypts and decrypts texts. `context` is associated data that binds a sealed text to its row. */
export type Sealer = {
  seal(text: string, context: string): string
  /** Throws if the key is unknown, the text was modified, or `context` differs. */
  open(sealed: string, context: string): string
  /** Returns the text sealed under the current key, or undefined if it is already. Only the data key is decrypted. */
  rewrap(sealed: string, context: string): string | undefined
}

const cipher = 'aes-256-gcm'
const keyBytes = 32
const ivBytes = 12
const tagBytes = 16
const version = 'v1'

/**
 * Creates a sealer with envelope encryption (AES-256-GCM, NIST SP 800-38D): each text has its own data key, which is sealed
 * under the first key. To rotate, put a new key first, keep the old one behind it, and rewrap all texts.
 */
export const createSealer = (keys: readonly [EncryptionKey, ...EncryptionKey[]]): Sealer => {
  const [current] = keys
  const keyOf = (id: string): Buffer => {
    const found = keys.find((each) => each.id === id)
    if (found === undefined)
      throw new Error(`ORRERY_KEY_ENCRYPTION_KEYS does not contain the key "${id}" of this sealed text.`)
    return found.key
  }
  const unwrap = ({ keyId, wrapped }: Parts, context: string): Buffer => decrypt(keyOf(keyId), wrapped, context)
  return {
    seal: (text, context) => {
      const dataKey = randomBytes(keyBytes)
      const wrapped = encrypt(current.key, dataKey, context)
      return join({ keyId: current.id, wrapped, content: encrypt(dataKey, Buffer.from(text), context) })
    },
    open: (sealed, context) => {
      const parts = split(sealed)
      return decrypt(unwrap(parts, context), parts.content, context).toString()
    },
    rewrap: (sealed, context) => {
      const parts = split(sealed)
      if (parts.keyId === current.id) return undefined
      return join({ ...parts, keyId: current.id, wrapped: encrypt(current.key, unwrap(parts, context), context) })
    },
  }
}

type Parts = { keyId: string; wrapped: Buffer; content: Buffer }

const join = ({ keyId, wrapped, content }: Parts): string =>
  [version, keyId, wrapped.toString('base64url'), content.toString('base64url')].join('.')

const split = (sealed: string): Parts => {
  const [found, keyId, wrapped, content] = sealed.split('.')
  if (found !== version || !keyId || !wrapped || !content) throw new Error('The text is not in the sealed format.')
  return { keyId, wrapped: Buffer.from(wrapped, 'base64url'), content: Buffer.from(content, 'base64url') }
}

const encrypt = (key: Buffer, content: Buffer, context: string): Buffer => {
  const iv = randomBytes(ivBytes)
  const encryption = createCipheriv(cipher, key, iv).setAAD(Buffer.from(context))
  return Buffer.concat([iv, encryption.update(content), encryption.final(), encryption.getAuthTag()])
}

const decrypt = (key: Buffer, sealed: Buffer, context: string): Buffer => {
  const decryption = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decryption.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decryption.update(sealed.subarray(ivBytes, -tagBytes)), decryption.final()])
}
