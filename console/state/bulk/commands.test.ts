import { expect, test } from 'vitest'
import { commandsForBulk } from './commands.ts'
import type { BulkKind } from './plan.ts'

const aPlan = (kind: BulkKind, count = 2) => ({
  kind,
  organizationId: 'org-1',
  ids: Array.from({ length: count }, (_, at) => `wld-${at}`),
})

test('starts worlds over both doors and with the client', () => {
  expect(commandsForBulk(aPlan('start'), '')).toEqual({
    curl: `curl -X POST \\
  -H "x-api-key: $KEY" \\
  -H "x-svc-organization-id: org-1" \\
  -H "content-type: application/json" \\
  -d '{"action":"start","ids":["wld-0","wld-1"]}' \\
  "$API/api/worlds/actions/"`,
    kubectl: `kubectl get worlds -A -l 'orrery.dev/world-id in (wld-0,wld-1)' --no-headers -o custom-columns=:metadata.namespace,:metadata.name,:spec.granted.id,:status.phase |
while read -r NAMESPACE NAME RUN PHASE; do
  [ "$RUN" = '<none>' ] || [ "$PHASE" = Error ] || continue
  kubectl patch -n "$NAMESPACE" "world/$NAME" --type=merge -p '{"spec":{"state":"Stopped"}}' || continue
  for TRY in $(seq 60); do
    [ -z "$(kubectl get -n "$NAMESPACE" "world/$NAME" -o jsonpath='{.spec.granted}')" ] && kubectl patch -n "$NAMESPACE" "world/$NAME" --type=merge -p '{"spec":{"state":"Running"}}' && break
    sleep 1
  done
done`,
    TypeScript: `const client = createClient({ baseUrl, apiKey, organizationId: 'org-1' })
const { results } = await client.actOnWorlds({ body: { action: 'start', ids: ['wld-0', 'wld-1'] } })`,
  })
})

test('stops worlds with one patch each', () => {
  const { curl, kubectl } = commandsForBulk(aPlan('stop'), '')
  expect(curl).toContain('"action":"stop"')
  expect(kubectl.split('\n')).toHaveLength(4)
})

test('restarts worlds with a bounded wait, whether they have a grant or not', () => {
  const { kubectl } = commandsForBulk(aPlan('restart'), '')
  expect(kubectl).toContain('in $(seq 60)')
  expect(kubectl).not.toContain('$RUN')
})

test('deletes worlds with one command', () => {
  expect(commandsForBulk(aPlan('delete'), '').kubectl).toBe(
    "kubectl delete worlds -A -l 'orrery.dev/world-id in (wld-0,wld-1)'",
  )
})

test('names the project of a key without a permission on the organization', () => {
  const { curl, TypeScript } = commandsForBulk(aPlan('stop'), 'prj-1')
  expect(curl).toContain('-H "x-svc-project-id: prj-1"')
  expect(TypeScript).toContain("projectId: 'prj-1'")
})

test('cuts the commands of many worlds, and says so', () => {
  const commands = commandsForBulk(aPlan('stop', 10_000), '')
  for (const text of Object.values(commands)) {
    expect(text).toMatch(/^(#|\/\/) The first 200 of 10,000 worlds\. Repeat it for the other 9,800\.\n/)
    expect(text.length).toBeLessThan(8_000)
  }
})

test('takes no id that could end the quotes of a shell', () => {
  const { curl } = commandsForBulk({ ...aPlan('stop'), ids: ["wld-1'; rm -rf '", 'wld-2'] }, '')
  expect(curl).not.toContain('rm')
  expect(curl).toContain('"wld-2"')
})
