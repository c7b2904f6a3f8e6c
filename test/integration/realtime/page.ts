import { createRealtime, type RealtimeOptions } from '#client/realtime.ts'

// What the page of the browser test runs: the test calls `follow`, and reads what was told.
const told = { phases: [] as string[], states: [] as string[] }

const follow = (options: RealtimeOptions, worldId: string): void => {
  const client = createRealtime({ ...options, onState: ({ state }) => told.states.push(state) })
  client.subscribe('world', worldId, {
    onUpdate: ({ data }) => told.phases.push(data.phase),
    onMissing: () => told.phases.push('missing'),
    onDeleted: () => told.phases.push('deleted'),
    onError: ({ code }) => told.phases.push(code),
  })
}

Object.assign(globalThis, { told, follow })
