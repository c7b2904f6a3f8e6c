import { describe, expect, test } from 'vitest'
import { findImageFault, parseImage, registryEntry } from './images.ts'

test.each([
  ['nginx', 'docker.io', 'library/nginx'],
  ['nginx:1.27', 'docker.io', 'library/nginx'],
  ['acme/server:1', 'docker.io', 'acme/server'],
  ['index.docker.io/nginx', 'docker.io', 'library/nginx'],
  ['registry.example/a/b:1@sha256:00', 'registry.example', 'a/b'],
  ['registry.example:5000/a', 'registry.example:5000', 'a'],
  ['registry:5000/a:1', 'registry:5000', 'a'],
  ['Registry.Example/a', 'registry.example', 'a'],
  ['INTERNAL/a', 'internal', 'a'],
  ['localhost/a', 'localhost', 'a'],
])('%s is in the registry %s', (image, registry, repository) => {
  expect(parseImage(image)).toEqual({ registry, repository })
})

describe('the registry of an image', () => {
  test.each([
    '127.0.0.1/a',
    '127.0.0.1:5000/a',
    '10.0.0.1:10250/a',
    '169.254.169.254/a',
    '127.1/a',
    '2130706433:80/a',
    '0x7f.1/a',
    '0x7f000001:80/a',
    '[::1]:5000/a',
    '[fd00::1]/a',
    'localhost/a',
    'LOCALHOST:5000/a',
    'registry.localhost/a',
    'localhost.:5000/a',
    'localhost.localdomain/a',
  ])('may not be the address %s, whatever is allowed', (image) => {
    expect(findImageFault(image, ['*'])).toBe('address')
  })

  test.each([
    ['registry.example/a', ['*']],
    ['nginx', ['docker.io']],
    ['ghcr.io/acme/server:1', ['ghcr.io/acme']],
    ['ghcr.io/acme/games/server', ['ghcr.io/acme']],
    ['ghcr.io/acme', ['ghcr.io/acme']],
    ['registry.example:5000/a', ['other.example', 'registry.example:5000']],
  ])('%s is allowed by %j', (image, registries) => {
    expect(findImageFault(image, registries)).toBeUndefined()
  })

  test.each([
    ['registry.example/a', []],
    ['nginx', ['registry.example']],
    ['registry.example:5000/a', ['registry.example']],
    ['registry.example.evil.example/a', ['registry.example']],
    ['ghcr.io/acme-evil/server', ['ghcr.io/acme']],
    ['ghcr.io/acme/../evil/server', ['ghcr.io/acme/games']],
    ['evil.example/registry.example/a', ['registry.example']],
  ])('%s is not allowed by %j', (image, registries) => {
    expect(findImageFault(image, registries)).toBe('registry')
  })
})

test.each(['10.0.0.1', 'localhost:5000', '127.1/a', 'https://registry.example', 'a b', '', '*.example'])(
  '%j is no entry of the allowed registries',
  (entry) => {
    expect(registryEntry.safeParse(entry).success).toBe(false)
  },
)
