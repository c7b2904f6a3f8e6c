import { expect, test, vi } from 'vitest'
import { eventually, patience } from './wait.ts'

const stepMs = 100
/** Waits in vain, and gives up after two looks of `stepMs` each. */
const twoLooks = (look: (count: number) => Promise<undefined>): Promise<unknown> => {
  let count = 0
  const now = vi.spyOn(performance, 'now').mockImplementation(() => count * stepMs)
  const lookAgain = () => {
    count += 1
    return look(count)
  }
  const timeoutMs = (2 * stepMs) / patience
  return eventually('an open door', lookAgain, { timeoutMs }).finally(() => now.mockRestore())
}

test('the error of a wait names what did not happen and the last error', async () => {
  const looks = twoLooks((count) => Promise.reject(new Error(`locked ${count} times`)))
  await expect(looks).rejects.toThrow(/^Not seen within 200 ms: an open door; last error: locked 2 times$/)
})

test('the error of a wait names no error if the last look had none', async () => {
  const looks = twoLooks((count) => (count === 1 ? Promise.reject(new Error('locked')) : Promise.resolve(undefined)))
  await expect(looks).rejects.toThrow(/^Not seen within 200 ms: an open door$/)
})
