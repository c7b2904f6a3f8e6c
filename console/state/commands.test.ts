import { expect, test } from 'vitest'
import { commandKinds, commandsFor, valueIn } from './commands.ts'

const find =
  'read -r NAMESPACE NAME <<< "$(kubectl get worlds -A -l orrery.dev/world-id=wld-1 --no-headers -o custom-columns=:metadata.namespace,:metadata.name)"'
const target = { organizationId: 'org-1', projectId: 'prj-1', worldId: 'wld-1' }

test('starts a world over both doors and with the client', () => {
  expect(commandsFor('start', target)).toEqual({
    curl: `curl -X POST \\
  -H "x-api-key: $KEY" \\
  -H "x-svc-organization-id: org-1" \\
  -H "x-svc-project-id: prj-1" \\
  "$API/api/worlds/wld-1/start/"`,
    kubectl: `${find}
kubectl patch -n "$NAMESPACE" "world/$NAME" --type=merge -p '{"spec":{"state":"Stopped"}}' &&
until [ -z "$(kubectl get -n "$NAMESPACE" "world/$NAME" -o jsonpath='{.spec.granted}')" ]; do sleep 1; done &&
kubectl patch -n "$NAMESPACE" "world/$NAME" --type=merge -p '{"spec":{"state":"Running"}}'`,
    TypeScript: `const client = createClient({ baseUrl, apiKey, organizationId: 'org-1', projectId: 'prj-1' })
await client.startWorld({ params: { worldId: 'wld-1' } })`,
  })
})

test('wakes a world with its own request, and with kubectl as a start', () => {
  const { curl, kubectl, TypeScript } = commandsFor('wake', target)
  expect(curl).toMatch(/^curl -X POST .*worlds\/wld-1\/wake\/"$/s)
  expect(kubectl).toBe(commandsFor('start', target).kubectl)
  expect(TypeScript).toContain("client.wakeWorld({ params: { worldId: 'wld-1' } })")
})

test('stops a world with one patch', () => {
  const { curl, kubectl } = commandsFor('stop', target)
  expect(curl).toContain('/stop/"')
  expect(kubectl.split('\n')).toEqual([find, expect.stringContaining('"Stopped"')])
})

test('deletes a world', () => {
  const { curl, kubectl, TypeScript } = commandsFor('delete', target)
  expect(curl).toMatch(/^curl -X DELETE .*worlds\/wld-1\/"$/s)
  expect(kubectl).toBe(`${find}\nkubectl delete -n "$NAMESPACE" "world/$NAME"`)
  expect(TypeScript).toContain("client.deleteWorld({ params: { worldId: 'wld-1' } })")
})

test('names the field that an edit changes', () => {
  const { curl, kubectl } = commandsFor('edit', target, { field: 'networking.scaling.profile' })
  expect(curl).toContain(`-d '{"networking":{"scaling":{"profile":"…"}}}'`)
  expect(kubectl).toBe(`${find}\nkubectl edit -n "$NAMESPACE" "world/$NAME"`)
})

test('names the profile that the remedy names', () => {
  const field = 'networking.scaling.profile'
  const value = valueIn('Choose Capacity100 (6Gi) or a larger scaling profile.', field)
  expect(commandsFor('edit', target, { field, value }).curl).toContain(`{"profile":"Capacity100"}`)
  expect(commandsFor('edit', target, { field, value }).TypeScript).toContain(`{"profile":"Capacity100"}`)
  expect(valueIn('Choose a larger scaling profile.', field)).toBeUndefined()
  expect(valueIn('Choose Capacity100 (6Gi).', 'compute')).toBeUndefined()
})

test('takes no field that could end the quotes of a shell', () => {
  expect(commandsFor('edit', target, { field: `a'; rm -rf '` }).curl).toContain(`-d '{ … }'`)
})

test('contains no key', () => {
  for (const kind of commandKinds) expect(commandsFor(kind, target).curl).toContain('x-api-key: $KEY')
})
