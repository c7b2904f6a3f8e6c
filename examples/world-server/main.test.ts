import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Sends SIGTERM to the process at its first `listen`, which then never ends. */
const stopAtListen = `data:text/javascript,${encodeURIComponent(`
  import { Server } from 'node:net'
  Server.prototype.listen = () => {
    setInterval(() => undefined, 1_000)
    process.kill(process.pid, 'SIGTERM')
  }
`)}`

const environments = {
  'world-server': { ORRERY_WORLD_ID: 'wld-1', ORRERY_RUN_ID: 'run-1' },
  bot: { ORRERY_WORLD_ID: 'wld-1', ORRERY_WORLD_ADDRESS: '127.0.0.1:7777', ORRERY_BOT_DEPLOYMENT_ID: 'bot-1' },
}

test.each(Object.entries(environments))('a %s that is stopped while it starts exits with code 0', async (name, env) => {
  const program = fileURLToPath(new URL(`../${name}/main.ts`, import.meta.url))
  const child = spawn(process.execPath, ['--import', stopAtListen, program], { env, stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([0, null])
})
