import { parseArgs } from 'node:util'
import { systemClock } from '#shared/clock.ts'
import { startOrExit } from '#shared/process.ts'
import { readRotationConfig } from './config.ts'
import { addSigningKey, rotateEncryption } from './domain/rotation/service.ts'
import { createKeyStore } from './domain/users/service.ts'
import { openDatabase } from './platform/database/client.ts'
import { createSealer } from './platform/secrets/seal.ts'

// `npm run rotate-keys [-- --signing-key]`: after a new key was put first in ORRERY_KEY_ENCRYPTION_KEYS and every replica
// has it; when it is done, the old one can be taken away.
await startOrExit(async () => {
  const { values } = parseArgs({ options: { 'signing-key': { type: 'boolean', default: false } } })
  const config = readRotationConfig(process.env)
  const { db, close } = openDatabase({ url: config.databaseUrl, poolSize: 2 })
  try {
    const sealer = createSealer(config.encryptionKeys)
    const done = await rotateEncryption(db, sealer)
    process.stdout.write(
      `${done.apiKeys} API keys and ${done.signingKeys} signing keys are under ${config.encryptionKeys[0].id} now; ` +
        `${done.forgottenAnswers} answers of Idempotency-Keys are forgotten\n`,
    )
    if (values['signing-key']) {
      await addSigningKey(createKeyStore(db, systemClock.now), sealer)
      process.stdout.write('a new signing key signs from now on\n')
    }
  } finally {
    await close()
  }
})
