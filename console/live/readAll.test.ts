import { expect, test } from 'vitest'
import { createListRead, type List, readAll } from './readAll.ts'

async function* pagesOf(...pages: number[][]): AsyncGenerator<number[]> {
  yield* pages
}

test('a list is read to its bound, and says whether it has more', async () => {
  expect(await readAll(pagesOf([1, 2]))).toEqual({ items: [1, 2], hasMore: false, isLong: false })
  expect(await readAll(pagesOf([1], [2]), 2)).toEqual({ items: [1, 2], hasMore: false, isLong: true })
  expect(await readAll(pagesOf([1], [2], [3]), 2)).toEqual({ items: [1, 2], hasMore: true, isLong: true })
})

test('a long list is read again only if its version changes or it is forgotten', async () => {
  const { signal } = new AbortController()
  let [reads, version, isLong] = [0, '', false]
  const { read, forget } = createListRead(
    async (): Promise<List<number>> => {
      reads += 1
      return { items: [], hasMore: false, isLong }
    },
    () => version,
  )
  const readsAfter = async (): Promise<number> => {
    await read(signal)
    return reads
  }
  expect(await readsAfter()).toBe(1)
  isLong = true
  expect(await readsAfter()).toBe(2)
  expect(await readsAfter()).toBe(2)
  version = 'next'
  expect(await readsAfter()).toBe(3)
  forget()
  expect(await readsAfter()).toBe(4)
  expect(await readsAfter()).toBe(4)
})
