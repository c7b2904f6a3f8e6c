import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { readPicture } from './upload.ts'

const reader = {
  lease: {
    group: undefined,
    hold: () => undefined,
    available: () => Number.POSITIVE_INFINITY,
    keep: () => undefined,
    end: () => undefined,
  },
  clock: createFakeClock(),
}
const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
const file = '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\ncontent\r\n'

const upload = (body: string, type = 'multipart/form-data; boundary=b') =>
  readPicture(new Request('http://x/', { method: 'POST', body, headers: { 'content-type': type } }), reader)

test('reads the only file among at most 16 parts', async () => {
  expect((await upload(`${part.repeat(15)}${file}--b--\r\n`)).toString()).toBe('content')
  expect((await upload(`${file}--b--\r\n`, 'multipart/form-data; boundary="b"')).toString()).toBe('content')
})

test('refuses more than 16 parts before it parses them', async () => {
  const many = upload(`${part.repeat(16)}${file}--b--\r\n`)
  await expect(many).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining('16 parts') })
})

test('refuses a Content-Type without a boundary', async () => {
  await expect(upload(file, 'multipart/form-data')).rejects.toMatchObject({ code: 'invalid_request' })
})
