import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPki } from '#dev/kubernetes/pki.ts'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { eventually } from './wait.ts'

const group = 'metrics.k8s.io'
const version = 'v1beta1'
const service = { namespace: 'kube-system', name: 'metrics-server' }
const registration = { name: `${version}.${group}` }

/** The use of a container, and its time, by default now. */
export type Usage = { readonly cpu: string; readonly memory: string; readonly timestamp?: string }

const resources = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: `${group}/${version}`,
  resources: [{ name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }],
}

const podMetrics = (name: string, { timestamp = new Date().toISOString(), ...usage }: Usage) => ({
  kind: 'PodMetrics',
  apiVersion: `${group}/${version}`,
  metadata: { name, creationTimestamp: new Date().toISOString() },
  timestamp,
  window: '15.009s',
  containers: [
    { name: 'sidecar', usage: { cpu: '9', memory: '9Gi' } },
    { name: 'server', usage },
  ],
})

/** The answer of metrics-server for a pod without a sample. */
const notFound = (name: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `podmetrics.${group} "${name}" not found`,
  reason: 'NotFound',
  details: { name, group, kind: 'podmetrics' },
  code: 404,
})

/** Returns a server of metrics.k8s.io that plays metrics-server behind the aggregation layer of the API server. */
export const metricsApi = (transport: Transport) => {
  const services = createClient<KubeObject>(transport, {
    group: '',
    version: 'v1',
    plural: 'services',
    kind: 'Service',
  })
  const registrations = createClient<KubeObject & { status?: { conditions?: { type: string; status: string }[] } }>(
    transport,
    { group: 'apiregistration.k8s.io', version: 'v1', plural: 'apiservices', kind: 'APIService' },
  )
  const dir = mkdtempSync(join(tmpdir(), 'orrery-metrics-'))
  const usages = new Map<string, Usage>()
  const asked: string[] = []
  let server: ReturnType<typeof createServer>
  const answer = (url: string): [number, object] => {
    if (url === `/apis/${group}/${version}`) return [200, resources]
    const [, name] = /\/pods\/([^/?]+)$/.exec(url) ?? []
    if (name === undefined) return [404, notFound('')]
    asked.push(name)
    const usage = usages.get(name)
    return usage === undefined ? [404, notFound(name)] : [200, podMetrics(name, usage)]
  }
  const stops = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return {
    /** Sets what the server of a world uses. */
    uses: (world: string, usage: Usage) => void usages.set(world, usage),
    /** Returns the pods that were asked for. */
    asked: (): readonly string[] => asked,
    isInstalled: async () => {
      const pki = await openPki(dir, Date.now())
      const { certFile, keyFile } = await pki.server('metrics', [`${service.name}.${service.namespace}.svc`])
      server = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, ({ url = '' }, response) => {
        const [status, body] = answer(url)
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const { port } = server.address() as AddressInfo
      await services.create({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: service,
        spec: { type: 'ExternalName', externalName: 'localhost' },
      })
      const priorities = { groupPriorityMinimum: 100, versionPriority: 100 }
      const caBundle = readFileSync(pki.caFile).toString('base64')
      await registrations.create({
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: registration,
        spec: { group, version, ...priorities, caBundle, service: { ...service, port } },
      })
      await eventually('metrics.k8s.io is available', async () => {
        const { status } = await registrations.get(registration)
        return status?.conditions?.some((each) => each.type === 'Available' && each.status === 'True')
      })
    },
    stops,
    isRemoved: async () => {
      await registrations.delete(registration)
      await services.delete(service)
      stops()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
