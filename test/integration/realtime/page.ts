import { createRealtime, type RealtimeOptions } from '#client/realtime.ts'

// The module of the browser test's page. The test calls `follow` and reads `received`.
const received = { phases: [] as string[], states: [] as string[] }

const follow = (options: RealtimeOptions, worldId: string): void => {
  const client = createRealtime({ ...options, onState: ({ state }) => received.states.push(state) })
  client.subscribe('world', worldId, {
    onUpdate: ({ data }) => received.phases.push(data.phase),
    onMissing: () => received.phases.push('missing'),
    onDeleted: () => received.phases.push('deleted'),
    onError: ({ code }) => received.phases.push(code),
  })
}

Object.assign(globalThis, { received, follow })
