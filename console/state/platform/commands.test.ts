import { expect, test } from 'vitest'
import { acceptCommand, commandsFor, commandsForAll, doctorCommands } from './commands.ts'

const finding = {
  type: 'Frozen',
  kind: 'World',
  cluster: 'eu',
  namespace: 'orrery-org-1',
  name: 'wld-2',
  message: 'The resource has a higher revision than its row. Run "orrery sync release" to continue.',
} as const
const textsOf = (change: Partial<Parameters<typeof commandsFor>[0]>) =>
  commandsFor({ ...finding, ...change }).map(({ text }) => text)

test('continues a frozen row with the settings of the resource or of the row', () => {
  expect(textsOf({})).toEqual([
    'orrery sync release --cluster eu orrery-org-1/wld-2',
    'orrery sync release --keep-row --cluster eu orrery-org-1/wld-2',
  ])
})

test('adopts or removes an orphan, as far as its message permits', () => {
  const type = 'Orphan'
  const adopt = 'orrery sync adopt --cluster eu orrery-org-1/wld-2'
  const remove = 'orrery sync remove --cluster eu orrery-org-1/wld-2'
  expect(textsOf({ type, message: 'Run "orrery sync adopt" or "orrery sync remove".' })).toEqual([adopt, remove])
  expect(textsOf({ type, message: 'Run "orrery sync remove", or restore it.' })).toEqual([remove])
  expect(
    textsOf({ type, kind: 'BotDeployment', message: 'Run "orrery sync adopt", or delete it with kubectl.' }),
  ).toEqual([adopt, 'kubectl -n orrery-org-1 delete botdeployment/wld-2'])
})

test('deletes a stranger with kubectl alone', () => {
  expect(textsOf({ type: 'Stranger', message: 'Another resource owns this name.' })).toEqual([
    'kubectl -n orrery-org-1 delete world/wld-2',
  ])
})

test('makes every name one word of the shell', () => {
  const name = "$(reboot) 'a'"
  expect(textsOf({ name })[0]).toBe(String.raw`orrery sync release --cluster eu 'orrery-org-1/$(reboot) '\''a'\'''`)
  expect(acceptCommand('a b')).toBe("orrery sync accept --cluster 'a b'")
  expect(doctorCommands('-x').map(({ text }) => text)).toEqual([
    "orrery doctor --cluster '-x'",
    "orrery doctor --fix --cluster '-x'",
  ])
})

test('resolves all of a type only if there are several', () => {
  expect(commandsForAll({ frozen: 1, orphans: 1 })).toEqual([])
  expect(commandsForAll({ frozen: 2, orphans: 3 }).map(({ text }) => text)).toEqual([
    'orrery sync release --all',
    'orrery sync adopt --all',
  ])
})
