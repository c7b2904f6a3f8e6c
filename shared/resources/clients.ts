import { type Client, createClient } from '#shared/kube/client.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Resources } from './crds.ts'
import { type Kind, kinds, mapKinds } from './group.ts'

/** A client of each kind. */
export type Clients = { readonly [K in Kind]: Client<Resources[K]> }

/** Creates a client of each kind over a transport. */
export const createClients = (transport: Transport): Clients =>
  mapKinds((kind) => createClient(transport, kinds[kind])) as Clients
