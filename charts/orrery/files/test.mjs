// `helm test`: walks a world through its life over REST, and prints each step.
import { readFileSync } from 'node:fs'

const api = process.env.API_URL
const platformKey = readFileSync('/etc/orrery/keys/platformKey', 'utf8').trim()
const stepMs = 90_000
const startedMs = Date.now()
const say = (text) => console.log(`${((Date.now() - startedMs) / 1000).toFixed(1)} s  ${text}`)

const scope = { 'x-api-key': platformKey }
const send = async (method, path, body) => {
  const response = await fetch(api + path, {
    method,
    headers: { ...scope, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

const until = async (what, read) => {
  const deadlineMs = Date.now() + stepMs
  for (let last; ; ) {
    const seen = await read()
    if (seen.isDone) return say(what)
    if (seen.state !== last) say(`… ${seen.state}`)
    last = seen.state
    if (Date.now() > deadlineMs) throw new Error(`Waited ${stepMs / 1000} s for ${what}; last state: ${last}`)
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

const phaseIs = (worldId, phase) => async () => {
  const world = await send('GET', `/api/worlds/${worldId}/`)
  const { phase: seen, message = '' } = world.status ?? world
  if (seen === 'Error') throw new Error(`The world is in Error: ${message}`)
  return { isDone: seen === phase, state: `${seen} ${message}`.trim() }
}

/** The address of a new service refuses connections until each node has its rules, for a moment after the pods are Ready. */
const isReady = async () => {
  const outcome = await fetch(`${api}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch((error) => error)
  return {
    isDone: outcome.ok === true,
    state: outcome.ok ? '' : `no answer of ${api}: ${outcome.cause ?? outcome.status}`,
  }
}

try {
  await until('the API is ready', isReady)
  const { organizationId } = await send('POST', '/api/organizations/', { name: 'Installation test' })
  scope['x-svc-organization-id'] = organizationId
  const { projectId } = await send('POST', '/api/organizations/projects/', { name: 'Installation test' })
  scope['x-svc-project-id'] = projectId
  const world = { name: 'Installation test', transient: false, runtime: { mapName: 'test' } }
  const { worldId } = await send('POST', '/api/worlds/', world)
  say(`created world ${worldId} of ${organizationId}`)
  await send('POST', `/api/worlds/${worldId}/start/`)
  await until('the world is Active', phaseIs(worldId, 'Active'))
  await send('POST', `/api/worlds/${worldId}/stop/`)
  await until('the world is Stopped', phaseIs(worldId, 'Stopped'))
  await send('DELETE', `/api/worlds/${worldId}/`)
  await send('DELETE', '/api/organizations/projects/current/')
  say('deleted the world and its project')
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
