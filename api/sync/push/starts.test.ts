import { expect, test } from 'vitest'
import { createStarts } from './starts.ts'

/** The number of starts that may wait. */
const all = 128

/** A record of starts with a clock that the test moves. */
const setup = () => {
  let nowMs = 0
  let wakes = 0
  const wake = (): void => {
    wakes += 1
  }
  const starts = createStarts({ monotonic: () => nowMs }, wake)
  const pass = (ms: number): void => {
    nowMs += ms
  }
  return {
    starts,
    pass,
    /** Pushes a start in this time. */
    push: (key: string, tookMs: number) => starts.track(key, async () => pass(tookMs)),
    /** Begins the pushes of many starts, which do not end. */
    begin: (count: number): void => {
      for (let at = 0; at < count; at += 1) void starts.track(`default/w${at}`, () => new Promise(() => undefined))
    },
    wakes: () => wakes,
  }
}

test('starts that a prompt API server accepts take no room', async () => {
  const { starts, push } = setup()
  for (let at = 0; at < 2 * all; at += 1) await push(`default/w${at}`, 10)
  expect(starts.room()).toBe(all)
})

test('a start takes room during its push, and there is room for 16 starts at least or for none', () => {
  const { starts, begin } = setup()
  begin(1)
  expect(starts.room()).toBe(all - 1)
  begin(all - 16)
  expect(starts.room()).toBe(16)
  begin(all - 15)
  expect(starts.room()).toBe(0)
  begin(all + 10)
  expect(starts.room()).toBe(0)
})

test('a start that a busy API server accepted takes room until its World has a status', async () => {
  const { starts, push } = setup()
  await push('default/w', 100)
  starts.reported('default/other')
  expect(starts.room()).toBe(all - 1)
  starts.reported('default/w')
  expect(starts.room()).toBe(all)
})

test('a start without a status takes room for 5 s at most', async () => {
  const { starts, push, pass } = setup()
  await push('default/w', 100)
  pass(4_899)
  expect(starts.room()).toBe(all - 1)
  pass(1)
  expect(starts.room()).toBe(all)
})

test('a World that is started again takes room from its last start', async () => {
  const { starts, push, pass } = setup()
  await push('default/w', 100)
  await push('default/x', 100)
  pass(4_000)
  await push('default/w', 100)
  pass(4_000)
  expect(starts.room()).toBe(all - 1)
})

test('a push that failed takes no room, and its error is passed on', async () => {
  const { starts, pass } = setup()
  const failing = starts.track('default/w', async () => {
    pass(1_000)
    throw new Error('refused')
  })
  await expect(failing).rejects.toThrow('refused')
  expect(starts.room()).toBe(all)
})

test('push is woken when there is room again', () => {
  const { starts, begin, wakes } = setup()
  begin(all)
  for (let at = 0; at < 15; at += 1) starts.reported(`default/w${at}`)
  starts.reported('default/w0')
  expect(wakes()).toBe(0)
  starts.reported('default/w15')
  expect(wakes()).toBe(1)
  expect(starts.room()).toBe(16)
  starts.reported('default/w16')
  expect(wakes()).toBe(1)
  expect(starts.room()).toBe(17)
})
