/** Returns a self-contained kubeconfig with one cluster and one user. It contains the user's key. */
export const kubeconfigText = (of: {
  url: string
  user: string
  /** PEM, like the next two. */
  ca: Buffer
  certificate: Buffer
  key: Buffer
}): string => {
  const cluster = { server: of.url, 'certificate-authority-data': of.ca.toString('base64') }
  const user = {
    'client-certificate-data': of.certificate.toString('base64'),
    'client-key-data': of.key.toString('base64'),
  }
  return JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'orrery',
      clusters: [{ name: 'orrery', cluster }],
      users: [{ name: of.user, user }],
      contexts: [{ name: 'orrery', context: { cluster: 'orrery', user: of.user } }],
    },
    null,
    2,
  )
}
