import { expect, test } from 'vitest'
import { refuseInsecurePublicUrl } from './publicUrl.ts'

test.each([
  ['https://api.example.com', undefined, true],
  ['http://127.0.0.1:8080', undefined, true],
  ['http://localhost:8080', undefined, true],
  ['http://[::1]:8080', undefined, true],
  ['http://api.example.com', undefined, false],
  ['http://127.0.0.1.example.com', undefined, false],
  ['http://api.example.com', 'false', false],
  ['http://api.example.com', 'true', true],
])(
  'accepts the public URL %s with ORRERY_ALLOW_INSECURE_PUBLIC_URL=%s: %s',
  (ORRERY_PUBLIC_URL, permission, isAccepted) => {
    const faults = refuseInsecurePublicUrl({ ORRERY_PUBLIC_URL, ORRERY_ALLOW_INSECURE_PUBLIC_URL: permission })
    expect(faults.map(([name]) => name)).toEqual(isAccepted ? [] : ['ORRERY_PUBLIC_URL'])
  },
)
