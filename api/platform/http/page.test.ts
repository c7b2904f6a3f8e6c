import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { nextPageLink, pageQuery, toPage, toPaged } from './page.ts'

const row = (at: number) => ({ id: `wld-${String(at).padStart(26, '0')}`, createdAt: new Date(Math.floor(at / 3)) })

test('returns every row once over linked pages of any size, while rows are added at the end', () => {
  fc.assert(
    fc.property(fc.nat(40), fc.integer({ min: 1, max: 12 }), fc.nat(5), (rows, limit, added) => {
      const table = Array.from({ length: rows }, (_, at) => row(at))
      const seen: string[] = []
      let query: Record<string, string> | undefined = { limit: String(limit) }
      for (let asked = 0; query !== undefined && asked < 100; asked += 1) {
        const page = toPage(pageQuery.parse(query))
        const after = page.after?.id ?? ''
        const following = table.filter(({ id }) => id > after)
        const rows = following.slice(0, page.limit)
        const { items, next } = toPaged({ rows, hasMore: following.length > rows.length })
        seen.push(...items.map(({ id }) => id))
        const link: string | undefined = nextPageLink('/list/', query, next).link
        query =
          link === undefined
            ? undefined
            : Object.fromEntries(new URL(link.slice(1, link.indexOf('>')), 'http://x').searchParams)
        if (asked < added) table.push(row(table.length))
      }
      expect(seen.slice(0, rows)).toEqual(table.slice(0, rows).map(({ id }) => id))
      expect(new Set(seen).size).toBe(seen.length)
    }),
  )
})

test('rejects a cursor that is not well-formed, and never throws', () => {
  fc.assert(
    fc.property(fc.string(), (cursor) => {
      const parsed = pageQuery.safeParse({ cursor })
      if (parsed.success) expect(cursor).toMatch(/^[0-9a-f]{1,11}\.[a-z]{3,4}-[0-9a-z]{26}$/)
    }),
  )
  expect(pageQuery.safeParse({ cursor: `ffffffffffff.${row(1).id}` }).success).toBe(false)
  expect(pageQuery.safeParse({ cursor: `fffffffffff.${row(1).id}` }).success).toBe(true)
})

test('keeps the query in the link, and omits the link on the last page', () => {
  const query = { status: ['Running', 'Error'], cursor: 'old', 'a&b': '2026-01-01T00:00:00+01:00' }
  expect(nextPageLink('/list/', query, row(3)).link).toBe(
    `</list/?limit=1000&status=Running&status=Error&cursor=1.${row(3).id}&a%26b=2026-01-01T00%3A00%3A00%2B01%3A00>; rel="next"`,
  )
  expect(nextPageLink('/list/', {}, undefined)).toEqual({})
})
