import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A key-encryption key by its name; the name is stored with what it sealed. */
export type EncryptionKey = { readonly id: string; readonly key: Buffer }

/** Seals texts that must be readable again; `about` binds a text to its row, so that one cannot stand in for another. */
export type Sealer = {
  seal(text: string, about: string): string
  /** Throws where the key is not known, or where text or `about` are not those that were sealed. */
  open(sealed: string, about: string): string
  /** The same sealed under the current key; undefined where it is already. The text itself is never opened. */
  rewrap(sealed: string, about: string): string | undefined
}

const cipher = 'aes-256-gcm'
const keyBytes = 32
const ivBytes = 12
const tagBytes = 16
const version = 'v1'

/**
 * Envelope encryption: each text has a data key of its own, which alone is sealed under the first of the keys. To
 * rotate, put a new key first, keep the old one after it, and rewrap everything (AES-256-GCM, NIST SP 800-38D).
 */
export const createSealer = (keys: readonly [EncryptionKey, ...EncryptionKey[]]): Sealer => {
  const [current] = keys
  const keyOf = (id: string): Buffer => {
    const found = keys.find((each) => each.id === id)
    if (found === undefined) throw new Error(`ORRERY_KEY_ENCRYPTION_KEYS has no key "${id}", which sealed this`)
    return found.key
  }
  const unwrap = ({ keyId, wrapped }: Parts, about: string): Buffer => decrypt(keyOf(keyId), wrapped, about)
  return {
    seal: (text, about) => {
      const dataKey = randomBytes(keyBytes)
      const wrapped = encrypt(current.key, dataKey, about)
      return join({ keyId: current.id, wrapped, content: encrypt(dataKey, Buffer.from(text), about) })
    },
    open: (sealed, about) => {
      const parts = split(sealed)
      return decrypt(unwrap(parts, about), parts.content, about).toString()
    },
    rewrap: (sealed, about) => {
      const parts = split(sealed)
      if (parts.keyId === current.id) return undefined
      return join({ ...parts, keyId: current.id, wrapped: encrypt(current.key, unwrap(parts, about), about) })
    },
  }
}

type Parts = { keyId: string; wrapped: Buffer; content: Buffer }

const join = ({ keyId, wrapped, content }: Parts): string =>
  [version, keyId, wrapped.toString('base64url'), content.toString('base64url')].join('.')

const split = (sealed: string): Parts => {
  const [found, keyId, wrapped, content] = sealed.split('.')
  if (found !== version || !keyId || !wrapped || !content) throw new Error('This was not sealed here')
  return { keyId, wrapped: Buffer.from(wrapped, 'base64url'), content: Buffer.from(content, 'base64url') }
}

const encrypt = (key: Buffer, content: Buffer, about: string): Buffer => {
  const iv = randomBytes(ivBytes)
  const encryption = createCipheriv(cipher, key, iv).setAAD(Buffer.from(about))
  return Buffer.concat([iv, encryption.update(content), encryption.final(), encryption.getAuthTag()])
}

const decrypt = (key: Buffer, sealed: Buffer, about: string): Buffer => {
  const decryption = createDecipheriv(cipher, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decryption.setAAD(Buffer.from(about)).setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decryption.update(sealed.subarray(ivBytes, -tagBytes)), decryption.final()])
}
