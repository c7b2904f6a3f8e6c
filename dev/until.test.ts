import { expect, test } from 'vitest'
import { until } from './until.ts'

test('returns the result, however often the check failed before', async () => {
  let looks = 0
  const look = async () => {
    looks += 1
    if (looks === 1) throw new Error('not yet')
    return looks > 2 ? 'seen' : undefined
  }
  expect(await until('it', look, 5_000)).toBe('seen')
})

test('throws after the timeout an error with the last failure of the check', async () => {
  const look = () => Promise.reject(new Error('the server is away'))
  await expect(until('the definitions', look, 100)).rejects.toThrow(
    'Waited 0.1 s for the definitions: the server is away',
  )
})
