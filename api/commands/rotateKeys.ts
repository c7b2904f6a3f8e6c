import { parseArgs } from 'node:util'
import { readRotationConfig } from '#api/config.ts'
import { addSigningKey, retireSigningKey, rotateEncryption, rotatePepper } from '#api/domain/rotation.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { createSealer } from '#api/platform/secrets/seal.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'

/**
 * `orrery rotate-keys [--signing-key] [--retire-signing-key <id>]`: run it after every replica has the new first key of
 * ORRERY_KEY_ENCRYPTION_KEYS, or the new ORRERY_KEY_PEPPER. When it is done, the old ones can be removed.
 */
export const rotateKeys = async (args: readonly string[]): Promise<void> => {
  const { values } = parseArgs({
    args: [...args],
    options: { 'signing-key': { type: 'boolean', default: false }, 'retire-signing-key': { type: 'string' } },
  })
  const config = readRotationConfig(process.env)
  const { db, close } = openDatabase({ url: config.databaseUrl, poolSize: 2 })
  try {
    const ctx = {
      db,
      sealer: createSealer(config.encryptionKeys),
      command: 'orrery rotate-keys',
      clock: systemClock,
      newId: createIdSource({ now: systemClock.now }),
    }
    const done = await rotateEncryption(ctx)
    process.stdout.write(
      `${done.apiKeys} API keys, ${done.signingKeys} signing keys and ${done.webhooks} webhook secrets are under ` +
        `${config.encryptionKeys[0].id} now; ${done.forgottenAnswers} stored responses for idempotency keys were deleted\n`,
    )
    if (config.pepper !== undefined) {
      const count = await rotatePepper(ctx, config.pepper)
      process.stdout.write(`${count} fingerprints of API keys were written anew under ORRERY_KEY_PEPPER\n`)
    }
    if (values['signing-key']) {
      await addSigningKey(ctx)
      process.stdout.write('The new signing key is used in 2 s. Tokens signed with older keys remain valid.\n')
    }
    const retired = values['retire-signing-key']
    if (retired === undefined) return
    if (!(await retireSigningKey(ctx, retired))) throw new Error(`No signing key has the id ${retired}.`)
    process.stdout.write(`Signing key ${retired} is retired; its tokens fail within a second\n`)
  } finally {
    await close()
  }
}
