import { expect, test } from 'vitest'
import { urlPattern } from './url.ts'

test.each([
  'https://example.com',
  'https://example.com/',
  'https://hooks.example.com:8443/a/b?x=1&y=%20',
  'https://example.com:443/',
  'https://example.com:1024/',
  'https://example.com:65535/',
  'https://localhost:5000/',
  'https://xn--bcher-kva.example/',
])('accepts %s', (url) => {
  expect(url).toMatch(urlPattern)
  expect(URL.parse(url)?.protocol).toBe('https:')
})

test.each([
  'http://example.com/',
  'https://user:password@example.com/',
  'https://user@example.com/',
  'https://example.com/#fragment',
  'https://example.com:80/',
  'https://example.com:1023/',
  'https://example.com:65536/',
  'https://example.com:0443/',
  'https://127.0.0.1/',
  'https://127.1/',
  'https://0x7f000001/',
  'https://2130706433/',
  'https://example.0x7f/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://example.com./',
  'https://-example.com/',
  'https://ex ample.com/',
  'https://example.com/\n',
  'https://example.com\\@127.0.0.1/',
  'https:example.com',
  'https:///example.com',
  'ftp://example.com/',
  '',
])('refuses %s', (url) => {
  expect(url).not.toMatch(urlPattern)
})
