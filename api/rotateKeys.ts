import { parseArgs } from 'node:util'
import { systemClock } from '#shared/clock.ts'
import { startOrExit } from '#shared/process.ts'
import { readRotationConfig } from './config.ts'
import { addSigningKey, retireSigningKey, rotateEncryption, rotatePepper } from './domain/rotation/service.ts'
import { createKeyStore } from './domain/users/service.ts'
import { openDatabase } from './platform/database/client.ts'
import { createSealer } from './platform/secrets/seal.ts'

// `npm run rotate-keys [-- --signing-key] [--retire-signing-key <id>]`: run it after every replica has the new first key of
// ORRERY_KEY_ENCRYPTION_KEYS, or the new ORRERY_KEY_PEPPER. When it is done, the old ones can be taken away.
await startOrExit(async () => {
  const { values } = parseArgs({
    options: { 'signing-key': { type: 'boolean', default: false }, 'retire-signing-key': { type: 'string' } },
  })
  const config = readRotationConfig(process.env)
  const { db, close } = openDatabase({ url: config.databaseUrl, poolSize: 2 })
  try {
    const sealer = createSealer(config.encryptionKeys)
    const done = await rotateEncryption(db, sealer)
    process.stdout.write(
      `${done.apiKeys} API keys and ${done.signingKeys} signing keys are under ${config.encryptionKeys[0].id} now; ` +
        `${done.forgottenAnswers} answers of Idempotency-Keys are forgotten\n`,
    )
    if (config.pepper !== undefined) {
      const count = await rotatePepper(db, sealer, config.pepper)
      process.stdout.write(`${count} fingerprints of API keys were written anew under ORRERY_KEY_PEPPER\n`)
    }
    const store = createKeyStore(db, systemClock.now)
    if (values['signing-key']) {
      await addSigningKey(store, sealer)
      process.stdout.write('A new signing key signs in 2 s; older ones go on verifying\n')
    }
    const retired = values['retire-signing-key']
    if (retired === undefined) return
    if (!(await retireSigningKey(db, store, sealer, retired))) throw new Error(`No signing key has the id ${retired}.`)
    process.stdout.write(`Signing key ${retired} is retired; its tokens fail within a second\n`)
  } finally {
    await close()
  }
})
