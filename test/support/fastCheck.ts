import fc from 'fast-check'

/** fast-check with the same inputs in each run. `ORRERY_TEST_SEED` gives others. */
fc.configureGlobal({ seed: Number(process.env.ORRERY_TEST_SEED ?? 1) })

export { fc }
