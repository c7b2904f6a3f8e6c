import { expect, test } from 'vitest'
import { idOfUid } from '#shared/ids.ts'
import { labels } from './group.ts'
import { resourceIdOf } from './resourceId.ts'

const uid = '0192f0c1-0000-7000-8000-000000000001'
const [foreign, own] = [idOfUid('world', '0192f0c1-0000-7000-8000-00000000000a'), idOfUid('world', uid)]
const aResource = (name: string, { label = '', revision = undefined as number | undefined, worldId = '' } = {}) => ({
  metadata: { name, uid, labels: { [labels.worldId]: label, [labels.botDeploymentId]: label } },
  spec: { revision },
  status: { worldId },
})

test('without a revision neither a name nor a label is an id', () => {
  expect(resourceIdOf('world', aResource(foreign, { label: foreign }))).toBe(own)
  expect(resourceIdOf('world', aResource('lobby', { label: foreign }))).toBe(own)
  const bots = idOfUid('bot', '0192f0c1-0000-7000-8000-00000000000b')
  expect(resourceIdOf('bot', aResource(bots, { label: bots }))).toBe(idOfUid('bot', uid))
})

test('with a revision the id is the name, else that of the status, else the label', () => {
  const [first, second] = [idOfUid('world', '0192f0c1-0000-7000-8000-00000000000c'), own]
  expect(resourceIdOf('world', aResource(first, { revision: 1, label: foreign, worldId: foreign }))).toBe(first)
  expect(resourceIdOf('world', aResource('lobby', { revision: 1, label: foreign, worldId: second }))).toBe(second)
  expect(resourceIdOf('world', aResource('lobby', { revision: 1, label: first }))).toBe(first)
  expect(resourceIdOf('world', aResource('lobby', { revision: 1, label: 'none' }))).toBe(own)
})
