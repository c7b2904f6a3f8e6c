import { expect, test } from 'vitest'
import { kubeconfigText } from './kubeconfig.ts'

test('a kubeconfig is self-contained, with a current context', () => {
  const text = kubeconfigText({
    url: 'https://127.0.0.1:6443',
    user: 'somebody',
    ca: Buffer.from('authority'),
    certificate: Buffer.from('certificate'),
    key: Buffer.from('key'),
  })
  expect(JSON.parse(text)).toEqual({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'orrery',
    clusters: [
      { name: 'orrery', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': 'YXV0aG9yaXR5' } },
    ],
    users: [{ name: 'somebody', user: { 'client-certificate-data': 'Y2VydGlmaWNhdGU=', 'client-key-data': 'a2V5' } }],
    contexts: [{ name: 'orrery', context: { cluster: 'orrery', user: 'somebody' } }],
  })
})
