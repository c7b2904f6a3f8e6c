import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { openPki } from '#dev/kubernetes/pki.ts'
import { type Service, startService } from '#dev/process.ts'
import { patience } from './wait.ts'

/** A Gateway of the tests: its name, its one listener with the host names and the port, and the namespaces that may use it. */
export type TestGateway = {
  readonly namespace: string
  readonly name: string
  readonly listener: string
  readonly hostname: string
  readonly port: number
  readonly selector: object
}

/** Returns the objects of a Gateway of Traefik, in their order: a new authority in `dir` signs the certificate of its listener. */
export const gatewayObjects = async (gateway: TestGateway, dir: string): Promise<object[]> => {
  const { namespace, name, listener, hostname, port, selector } = gateway
  const { certFile, keyFile } = await (await openPki(dir, Date.now())).server('gateway', [hostname])
  const api = 'gateway.networking.k8s.io/v1'
  const [tls, gatewayClassName] = ['gateway-tls', 'traefik']
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: tls },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': readFileSync(certFile, 'utf8'), 'tls.key': readFileSync(keyFile, 'utf8') },
    },
    {
      apiVersion: api,
      kind: 'GatewayClass',
      metadata: { name: gatewayClassName },
      spec: { controllerName: 'traefik.io/gateway-controller' },
    },
    {
      apiVersion: api,
      kind: 'Gateway',
      metadata: { namespace, name },
      spec: {
        gatewayClassName,
        listeners: [
          {
            ...{ name: listener, hostname, port, protocol: 'HTTPS' },
            tls: { certificateRefs: [{ name: tls }] },
            allowedRoutes: { namespaces: { from: 'Selector', selector } },
          },
        ],
      },
    },
  ]
}

/** Starts Traefik as the controller of the Gateways of a cluster. It listens on the port of the loopback address. */
export const startTraefik = async (options: { port: number; kubeconfig: string; logDir: string }): Promise<Service> => {
  const { port, kubeconfig, logDir } = options
  const command = await obtainGoProgram('traefik', {
    env: process.env,
    progress: (line) => process.stderr.write(`[traefik] ${line}\n`),
  })
  return startService({
    name: 'traefik',
    command,
    args: [
      '--providers.kubernetesgateway=true',
      // The port of the listeners that it serves.
      `--entrypoints.players.address=127.0.0.1:${port}`,
      '--global.checknewversion=false',
      '--global.sendanonymoususage=false',
    ],
    env: { KUBECONFIG: kubeconfig },
    logFile: join(logDir, 'traefik.log'),
    ready: async (signal) => (await fetch(`http://127.0.0.1:${port}/`, { signal })).status === 404,
    readyTimeoutMs: 30_000 * patience,
  })
}
